import { ApiError, randomKey } from '@purser/client'
import { useState } from 'react'

import { isForeign } from './failures.ts'
import { useSeen } from './seen.tsx'

/** A change as it was sent: with the same key and the same body it is made once, however often it is sent. */
interface Sent<Body> {
  readonly idempotencyKey: string
  readonly body: Body
}

/**
 * A change that was sent without a known answer. It is kept in this tab until the answer is known, even if its form is
 * closed, the page is reloaded, or the session ends: the same body is then sent with the same key. The body must be
 * serializable as JSON.
 */
export function useSent<Body>(name: string) {
  const { session, environment } = useSeen()
  const storageKey = `purser.sent.${session.account.id}.${environment}.${name}`
  const [sent, setSent] = useState(() => {
    const kept = sessionStorage.getItem(storageKey)
    return kept === null ? undefined : (JSON.parse(kept) as Sent<Body>)
  })
  function forget() {
    sessionStorage.removeItem(storageKey)
    setSent(undefined)
  }
  async function send<Answer>(body: Body, request: (change: Sent<Body>) => Promise<Answer>) {
    const isSame = sent !== undefined && JSON.stringify(sent.body) === JSON.stringify(body)
    const change = isSame ? sent : { idempotencyKey: randomKey(), body }
    sessionStorage.setItem(storageKey, JSON.stringify(change))
    setSent(change)
    try {
      const answer = await request(change)
      forget()
      return answer
    } catch (error) {
      if (isDecided(error)) forget()
      throw error
    }
  }
  return { sent, send, forget }
}

/**
 * Whether the service looked at the change and refused it. Other errors, such as the page of a proxy, say nothing about
 * an earlier attempt.
 */
function isDecided(error: unknown): boolean {
  return error instanceof ApiError && [400, 404, 409, 422].includes(error.status) && !isForeign(error)
}
