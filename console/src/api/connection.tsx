import { ApiError, AuthenticationError } from '@purser/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, use, useCallback, useEffect, useMemo, useRef, type ReactNode } from 'react'

import { useSeen } from './seen.tsx'
import { statusPollMs, statusTimeoutMs } from './status-poll.ts'

/** Whether the service answers, and whether agents are stopped. */
export interface Connection {
  readonly state: 'connecting' | 'up' | 'unreachable' | 'no database'
  /** When the service last answered; 0 before the first response. */
  readonly answeredAtMs: number
  /** Mandates paused by a stop, as of the last response. */
  readonly stoppedMandates: number
  /** The number of the last stop, as of the last response. */
  readonly stopNumber: number
  /** Approvals that wait for a decision, as of the last response. */
  readonly pendingApprovals: number
  /** By how much the account's time is ahead of this machine's. */
  readonly clockAheadMs: number
  /** How far the account's test clock is ahead of the service's clock. */
  readonly testClockSeconds: number
  /** Polls now; resolves to whether the service answered. */
  readonly check: () => Promise<boolean>
}

/** By how much the account's time is ahead of this machine's: whole seconds, rounded up, so that nothing past is still to come. */
const ClockContext = createContext(0)

/** Tells the account's time, which its test clock may have moved ahead of this machine's. */
export function useNow(): () => number {
  const aheadMs = use(ClockContext)
  return () => Date.now() + aheadMs
}

const ConnectionContext = createContext<Connection | undefined>(undefined)

/** The connection of the screens below `<Connected>`. */
export function useConnection(): Connection {
  const connection = use(ConnectionContext)
  if (!connection) throw new Error('useConnection must be used within <Connected>')
  return connection
}

export function isDown({ state }: Pick<Connection, 'state'>): boolean {
  return state === 'unreachable' || state === 'no database'
}

/** Polls the service. After an outage, or a move of the test clock, everything on the screen is refetched. */
export function Connected({ children }: { readonly children: ReactNode }) {
  const { purser, environment } = useSeen()
  const queries = useQueryClient()
  const status = useQuery({
    queryKey: statusKey(environment),
    queryFn: ({ signal }) => purser.console.status({ signal, timeout: statusTimeoutMs, maxRetries: 0 }),
    refetchInterval: statusPollMs,
    refetchOnWindowFocus: 'always',
    retry: false,
  })
  const state = status.isPending ? 'connecting' : stateOf(status.error)

  const wasDown = useRef(false)
  const clockBefore = useRef<number>(undefined)
  const clock = status.data?.clock_offset_seconds
  useEffect(() => {
    const hasMoved = clockBefore.current !== undefined && clock !== clockBefore.current
    clockBefore.current = clock
    if (state === 'up' && (wasDown.current || hasMoved)) {
      void queries.invalidateQueries({
        predicate: ({ queryKey: [scope, name] }) => scope === environment && name !== 'status',
      })
    }
    wasDown.current = isDown({ state })
  }, [state, clock, queries, environment])

  const { refetch, data, dataUpdatedAt } = status
  const check = useCallback(async () => stateOf((await refetch()).error) === 'up', [refetch])
  const connection = useMemo<Connection>(
    () => ({
      state,
      check,
      answeredAtMs: dataUpdatedAt,
      stoppedMandates: data?.stopped_mandates ?? 0,
      stopNumber: data?.stop_number ?? 0,
      pendingApprovals: data?.pending_approvals ?? 0,
      testClockSeconds: data?.clock_offset_seconds ?? 0,
      clockAheadMs: data ? Date.parse(data.at) - dataUpdatedAt : 0,
    }),
    [state, check, dataUpdatedAt, data],
  )
  return (
    <ConnectionContext value={connection}>
      <ClockContext value={Math.ceil(connection.clockAheadMs / 1_000) * 1_000}>{children}</ClockContext>
    </ConnectionContext>
  )
}

export function statusKey(environment: string): readonly string[] {
  return [environment, 'status']
}

/** A refusal also counts as an answer; a 5xx does not, unless it only means that one query took too long. */
function stateOf(error: Error | null): Connection['state'] {
  if (error === null || error instanceof AuthenticationError) return 'up'
  if (!(error instanceof ApiError)) return 'unreachable'
  if (error.code === 'store_unavailable') return 'no database'
  return error.status >= 500 && error.code !== 'query_too_slow' ? 'unreachable' : 'up'
}
