import type { Environment, Purser, Session } from '@purser/client'
import { createContext, use, useMemo, type ReactNode } from 'react'

import { createPurser } from './purser.ts'

/** The session, the current environment, and their client. */
interface Seen {
  readonly session: Session
  readonly environment: Environment
  readonly purser: Purser
}

const SeenContext = createContext<Seen | undefined>(undefined)

/** The session, the environment and the client of the screens below `<Seeing>`. */
export function useSeen(): Seen {
  const seen = use(SeenContext)
  if (!seen) throw new Error('useSeen must be used within <Seeing>')
  return seen
}

/** Provides one environment of a session to its screens. */
export function Seeing({
  session,
  environment,
  children,
}: {
  readonly session: Session
  readonly environment: Environment
  readonly children: ReactNode
}) {
  const seen = useMemo(
    () => ({ session, environment, purser: createPurser({ environment, csrfToken: session.csrf_token }) }),
    [session, environment],
  )
  return <SeenContext value={seen}>{children}</SeenContext>
}
