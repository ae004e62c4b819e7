import { ApiError, AuthenticationError, type Page, type Purser } from '@purser/client'
import {
  keepPreviousData,
  QueryCache,
  QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'

import { sayFailed } from '../ui/toast.tsx'
import { useSeen } from './seen.tsx'
import { explainFailure } from './failures.ts'

/** What was read is shown at once when one comes back to it, and read anew meanwhile. */
export function createQueries(): QueryClient {
  const queries: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError: (error) => endOfSession(error, queries) }),
    defaultOptions: {
      queries: {
        retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status < 500),
      },
    },
  })
  return queries
}

/** A session that has ended shows the sign-in screen, wherever it is noticed. */
function endOfSession(error: Error, queries: QueryClient): void {
  if (error instanceof AuthenticationError) queries.setQueryData(['session'], null)
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
    /** How often it is read anew by itself; it may depend on what was read last. */
    readonly refetchMs?: number | false | ((latest: Answer | undefined) => number)
    readonly isEnabled?: boolean
  } = {},
) {
  const { purser, environment } = useSeen()
  return useQuery({
    queryKey: [environment, name, ...parameters],
    queryFn: ({ signal }) => read(purser, signal),
    refetchInterval: typeof refetchMs === 'function' ? ({ state }) => refetchMs(state.data) : refetchMs,
    enabled: isEnabled,
    placeholderData: keepPreviousData,
  })
}

/** A list that is read page by page. */
export function useReadPages<Item>(
  name: string,
  read: (purser: Purser, cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  parameters: readonly unknown[] = [],
) {
  const { purser, environment } = useSeen()
  return useInfiniteQuery({
    queryKey: [environment, name, 'pages', ...parameters],
    queryFn: ({ pageParam, signal }) => readFullPage((cursor) => read(purser, cursor, signal), pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
  })
}

/** How many empty pages in a row are passed over before the reader is asked whether to go on. */
const emptyPages = 5

/** A filtered page may be empty while there is a next one: those are passed over. */
async function readFullPage<Item>(
  read: (cursor: string | undefined) => Promise<Page<Item>>,
  start: string | undefined,
): Promise<Page<Item>> {
  let page = await read(start)
  for (let passed = 0; page.items.length === 0 && page.nextCursor !== null && passed < emptyPages; passed++) {
    page = await read(page.nextCursor)
  }
  return page
}

/** Something that is changed in the service. What the screens show is read anew afterwards. */
export function useChange<Asked, Answer>(
  change: (purser: Purser, asked: Asked) => Promise<Answer>,
  {
    onDone,
    showsFailure = true,
  }: { onDone?: (answer: Answer, asked: Asked) => void; showsFailure?: boolean } = {},
) {
  const { purser, environment } = useSeen()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (asked: Asked) => change(purser, asked),
    onSuccess: (answer, asked) => {
      void queries.invalidateQueries({ queryKey: [environment] })
      onDone?.(answer, asked)
    },
    onError: (error) => {
      endOfSession(error, queries)
      if (showsFailure) sayFailed(explainFailure(error))
    },
  })
}
