import { NotFoundError, type Purser } from '@purser/client'

import { useChange } from '../../api/queries.ts'
import { sayDone } from '../../ui/toast.tsx'

/** Ends one session; if it has already ended, that is fine. */
export function useEndSession() {
  return useChange(endSession, {
    onDone: () => sayDone('Session ended'),
    whenFailed: 'The session could not be ended.',
  })
}

/** Ends all sessions except the current one; resolves to the number. */
export async function endOtherSessions(purser: Purser): Promise<number> {
  let ended = 0
  for await (const { id, is_current } of purser.sessions.list({ limit: 200 })) {
    if (is_current) continue
    await endSession(purser, id)
    ended++
  }
  return ended
}

async function endSession(purser: Purser, id: string): Promise<void> {
  try {
    await purser.sessions.end(id)
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error
  }
}
