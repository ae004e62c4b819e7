import { ApiError, AuthenticationError, type Page, type Purser } from '@purser/client'
import {
  keepPreviousData,
  QueryCache,
  QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
  type InfiniteData,
  type UseInfiniteQueryResult,
} from '@tanstack/react-query'
import { useEffect, useRef } from 'react'

import { sayFailed } from '../ui/toast.tsx'
import { useSeen } from './seen.tsx'
import { explainNotDone } from './failures.ts'
import { askWhoseSession, expireSession } from './session.ts'

/** Delay before a failed read is retried automatically. */
const retryFailedMs = 15_000

/**
 * Shows cached data at once and refreshes it in the background. The service may run on this machine, so
 * requests are sent even if the browser believes it is offline, and changes never wait for a network.
 */
export function createQueries(): QueryClient {
  const queries: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError: (error) => endOfSession(error, queries) }),
    defaultOptions: {
      queries: {
        networkMode: 'always',
        retry: (count, error) => count < 2 && isWorthRetrying(error),
      },
      mutations: { networkMode: 'always' },
    },
  })
  return queries
}

function isWorthRetrying(error: Error): boolean {
  return !(error instanceof ApiError && error.status < 500)
}

/** When to refetch: after the retry delay if the last read failed, else at the screen's interval. */
function refetchAfter<Answer>(
  { state }: { readonly state: { readonly data: Answer | undefined; readonly error: Error | null } },
  refetchMs: RefetchMs<Answer>,
): number | false {
  const usualMs = typeof refetchMs === 'function' ? refetchMs(state.data) : refetchMs
  if (state.error === null || !isWorthRetrying(state.error)) return usualMs
  return usualMs === false ? retryFailedMs : usualMs
}

type RefetchMs<Answer> = number | false | ((latest: Answer | undefined) => number)

function endOfSession(error: Error, queries: QueryClient): void {
  if (error instanceof AuthenticationError) expireSession(queries)
  // Another window has signed in.
  if (error instanceof ApiError && error.code === 'csrf_token_missing') askWhoseSession(queries)
}

/** A query; `name` and `parameters` identify it within the environment. */
export function useRead<Answer>(
  name: string,
  read: (purser: Purser, signal: AbortSignal) => Promise<Answer>,
  {
    parameters = [],
    refetchMs = false,
    isEnabled = true,
  }: {
    readonly parameters?: readonly unknown[]
    /** Refresh interval; may depend on the latest response. */
    readonly refetchMs?: RefetchMs<Answer>
    readonly isEnabled?: boolean
  } = {},
) {
  const { purser, environment } = useSeen()
  return useQuery({
    queryKey: [environment, name, ...parameters],
    queryFn: ({ signal }) => read(purser, signal),
    refetchInterval: (query) => refetchAfter(query, refetchMs),
    enabled: isEnabled,
    placeholderData: keepPreviousData,
  })
}

/** Reads once when called, without a cache. */
export function useReadNow() {
  const { purser, environment } = useSeen()
  const queries = useQueryClient()
  return <Answer>(name: string, read: (purser: Purser, signal: AbortSignal) => Promise<Answer>) =>
    queries.fetchQuery({
      queryKey: [environment, name],
      queryFn: ({ signal }) => read(purser, signal),
      gcTime: 0,
      retry: false,
    })
}

/** The pages of a list read so far. */
export type ReadPages<Item> = UseInfiniteQueryResult<InfiniteData<Page<Item>>>

/** A paginated list, which shows what changes elsewhere. */
export function useReadPages<Item>(
  name: string,
  read: (purser: Purser, cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  parameters: readonly unknown[] = [],
  {
    isEnabled = true,
    refetchMs = refetchFirstPage,
    rowsAtOnce = usualRowsAtOnce,
  }: {
    readonly isEnabled?: boolean
    readonly refetchMs?: RefetchMs<InfiniteData<Page<Item>>>
    /** How many rows to collect per step; `read` has to request no more. */
    readonly rowsAtOnce?: number
  } = {},
): ReadPages<Item> {
  const { purser, environment } = useSeen()
  return useInfiniteQuery({
    queryKey: [environment, name, 'pages', ...parameters],
    queryFn: ({ pageParam, signal }) =>
      readFullPage((cursor) => read(purser, cursor, signal), { start: pageParam, rowsAtOnce }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    refetchInterval: (query) => refetchAfter(query, refetchMs),
    enabled: isEnabled,
    placeholderData: keepPreviousData,
  })
}

/** Refreshes a list while only its first page is read: each refresh reads all of them. */
function refetchFirstPage(latest: { readonly pages: readonly unknown[] } | undefined): number {
  return (latest?.pages.length ?? 0) > 1 ? 0 : firstPageMs
}

const firstPageMs = 15_000

/** The number of rows per step, and how long to collect them before the user is asked to continue. */
const usualRowsAtOnce = 50
const gatheringMs = 2_000

/**
 * A page of the service may have few rows, because it searches a bounded number of records: so collect
 * several.
 */
async function readFullPage<Item>(
  read: (cursor: string | undefined) => Promise<Page<Item>>,
  { start, rowsAtOnce }: { readonly start: string | undefined; readonly rowsAtOnce: number },
): Promise<Page<Item>> {
  const endMs = performance.now() + gatheringMs
  let page = await read(start)
  while (page.nextCursor !== null && page.items.length < rowsAtOnce && performance.now() < endMs) {
    const next = await read(page.nextCursor)
    page = { ...next, items: [...page.items, ...next.items] }
  }
  return page
}

/**
 * A mutation. All queries are refetched afterwards, also after a refusal, because stale data is often its
 * cause. `whenFailed` and the reason are shown in a toast; without it, the caller shows the error, and only an error
 * that comes after `reset`, or after the caller is gone, is shown in a toast, which begins with `whenUnseen`.
 */
export function useChange<Asked, Answer>(
  change: (purser: Purser, asked: Asked) => Promise<Answer>,
  {
    onDone,
    whenFailed,
    whenUnseen = 'A change failed after its form was closed.',
  }: { onDone?: (answer: Answer, asked: Asked) => void; whenFailed?: string; whenUnseen?: string } = {},
) {
  const { purser, environment } = useSeen()
  const queries = useQueryClient()
  // A button is disabled by the next rendering, which a second click may precede.
  const running = useRef<Running<Asked>>(undefined)
  useEffect(() => () => void (running.current = undefined), [])
  const { mutate, reset, isPending, error } = useMutation({
    mutationFn: ({ asked }: Running<Asked>) => change(purser, asked),
    onSuccess: (answer, { asked }) => onDone?.(answer, asked),
    onError: (failure, own) => {
      endOfSession(failure, queries)
      const words = whenFailed ?? (running.current === own ? undefined : whenUnseen)
      if (words) sayFailed(explainNotDone(words, failure))
    },
    onSettled: (_answer, _failure, own) => {
      if (running.current === own) running.current = undefined
      void queries.invalidateQueries({ queryKey: [environment] })
    },
  })
  return {
    isPending,
    error,
    mutate(asked: Asked) {
      if (running.current) return
      running.current = { asked }
      mutate(running.current)
    },
    reset() {
      running.current = undefined
      reset()
    },
  }
}

/** A change that is sent, and that its caller waits for. */
interface Running<Asked> {
  readonly asked: Asked
}
