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

import { sayFailed } from '../ui/toast.tsx'
import { useSeen } from './seen.tsx'
import { explainFailure } from './failures.ts'
import { expireSession } from './session.ts'

/** How long a read that failed waits until it is tried again by itself. */
const retryFailedMs = 15_000

/**
 * Shows cached data at once and refreshes it in the background. The service may run on this very machine, so requests
 * are sent even when the browser thinks that it is offline; and a change never waits for a network that may come later.
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

/** When to read again: sooner or later after a failure, else as often as the screen wants. */
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
}

/** Something that is read from the service: `name` and `parameters` say what, within the environment. */
export function useRead<Answer>(
  name: string,
  read: (purser: Purser, signal: AbortSignal) => Promise<Answer>,
  {
    parameters = [],
    refetchMs = false,
    isEnabled = true,
  }: {
    readonly parameters?: readonly unknown[]
    /** How often it is refreshed; may depend on the latest answer. */
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

/** A list as far as it was read. */
export type ReadPages<Item> = UseInfiniteQueryResult<InfiniteData<Page<Item>>>

/** A list that is read page by page. */
export function useReadPages<Item>(
  name: string,
  read: (purser: Purser, cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  parameters: readonly unknown[] = [],
  { isEnabled = true }: { readonly isEnabled?: boolean } = {},
): ReadPages<Item> {
  const { purser, environment } = useSeen()
  return useInfiniteQuery({
    queryKey: [environment, name, 'pages', ...parameters],
    queryFn: ({ pageParam, signal }) => readFullPage((cursor) => read(purser, cursor, signal), pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    refetchInterval: (query) => refetchAfter(query, false),
    enabled: isEnabled,
    placeholderData: keepPreviousData,
  })
}

/** How many rows are shown at once, and for how long they are gathered before the reader is asked whether to go on. */
const rowsAtOnce = 50
const gatheringMs = 2_000

/** The service looks at a bounded number of records for a page, which may hold few: so more are gathered. */
async function readFullPage<Item>(
  read: (cursor: string | undefined) => Promise<Page<Item>>,
  start: string | undefined,
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
 * Something that is changed in the service. What the screens show is read anew afterwards, also when it was refused:
 * often because what they show is no longer so. `whenFailed` and the reason are said in a toast; without it, whoever
 * calls shows the error.
 */
export function useChange<Asked, Answer>(
  change: (purser: Purser, asked: Asked) => Promise<Answer>,
  { onDone, whenFailed }: { onDone?: (answer: Answer, asked: Asked) => void; whenFailed?: string } = {},
) {
  const { purser, environment } = useSeen()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (asked: Asked) => change(purser, asked),
    onSuccess: (answer, asked) => onDone?.(answer, asked),
    onError: (error) => {
      endOfSession(error, queries)
      if (whenFailed) sayFailed(`${whenFailed} ${explainFailure(error)}`)
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: [environment] }),
  })
}
