import { sendOnce, type IdempotentOptions } from '../send-once.ts'
import { readEvents } from '../events.ts'
import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Open, Send } from '../send.ts'
import type {
  AgentSummary,
  ConsoleStatus,
  ExportTransactionsQuery,
  FeedEnd,
  FeedEvent,
  Found,
  GetMandateSpendQuery,
  GetOverviewQuery,
  GetSpendingQuery,
  ListConsoleMandatesQuery,
  ListConsoleTransactionsQuery,
  ListedApiKey,
  ListedMandate,
  MandateDetail,
  MandateSpend,
  NamedTransaction,
  NewSession,
  Overview,
  PageQuery,
  Resumed,
  SellerSummary,
  Session,
  SignInOptions,
  Spending,
  Stopped,
  StreamTransactionsQuery,
  System,
  TransactionDetail,
} from '../wire-types.ts'

/** Messages of the live feed: transactions with a resume position, and why the feed ended. */
export type FeedMessage =
  | ({ readonly type: 'transactions'; readonly id: string } & FeedEvent)
  | { readonly type: 'end'; readonly reason: FeedEnd }

/** Where a feed resumes, and what ends it. */
export interface FeedOptions {
  /** The `id` of the last message received; without one the feed begins with the newest. */
  readonly lastEventId?: string | undefined
  readonly query?: StreamTransactionsQuery | undefined
  readonly signal?: AbortSignal | undefined
}

export interface ResumeOptions extends CallOptions {
  /** The `stop_number` of the status: the request is refused with `another_stop` if another stop has begun since. */
  readonly stopNumber?: number | undefined
}

export type Console = ReturnType<typeof consoleOf>

/** The calls of the web console, for keys and sessions of owners, operators and approvers. */
export function consoleOf(send: Send, open: Open) {
  async function get<Answer>(address: string, query?: object, options?: CallOptions): Promise<Answer> {
    return (await send({ method: 'GET', path: address, query }, options)).body as Answer
  }

  return {
    /** The ways to sign in to the console. Needs no key. */
    signInOptions: (options?: CallOptions) => get<SignInOptions>('/v1/console/sign-in', undefined, options),
    /** Exchanges a key, or the token of a set-up link, for a session cookie. */
    startSession: async (body: NewSession, options?: CallOptions): Promise<Session> =>
      (await send({ method: 'POST', path: '/v1/console/session', body }, options)).body as Session,
    /** The session of the cookie. */
    session: (options?: CallOptions) => get<Session>('/v1/console/session', undefined, options),
    /** Signs out: the cookie is no longer accepted. */
    endSession: async (options?: CallOptions): Promise<void> => {
      await send({ method: 'DELETE', path: '/v1/console/session' }, options)
    },

    /** The overview: spend, budgets, denials and stops. */
    overview: (query?: GetOverviewQuery, options?: CallOptions) =>
      get<Overview>('/v1/console/overview', query, options),
    /** Spending in a period and in the previous one, in total and by agent, seller or category. */
    spending: (query?: GetSpendingQuery, options?: CallOptions) =>
      get<Spending>('/v1/console/spending', query, options),
    /** Whether agents are stopped. A response also means that the database is reachable. */
    status: (options?: CallOptions) => get<ConsoleStatus>('/v1/console/status', undefined, options),
    /**
     * Pauses every active mandate, and voids their open proofs; nothing is authorized after the response.
     * Retried with the same key, so a retry returns the complete result.
     */
    stop: async (options?: IdempotentOptions): Promise<Stopped> =>
      (await sendOnce(send, { path: '/v1/console/stop' }, options)) as Stopped,
    /**
     * Resumes the mandates paused by the last stop, unless their status was changed since. With the id of an earlier
     * stop, it resumes nothing.
     *
     * @example
     * const { stop_id } = await purser.console.stop()
     * const { resumed_mandates } = await purser.console.resume(stop_id)
     */
    resume: async (stopId?: string, { stopNumber, ...call }: ResumeOptions = {}): Promise<Resumed> => {
      const body = { stop_id: stopId, stop_number: stopNumber }
      const request = { method: 'POST', path: '/v1/console/resume', body, isRepeatable: true } as const
      return (await send(request, call)).body as Resumed
    },
    /** Transactions as they happen, oldest first, until the signal aborts or the service ends the feed. */
    feed: (options?: FeedOptions): AsyncGenerator<FeedMessage, void, undefined> => feed(open, options),

    mandates: {
      /** Mandates as the console lists them, newest first. */
      list: (query?: ListConsoleMandatesQuery, options?: CallOptions): List<ListedMandate> =>
        listOf(send, '/v1/console/mandates', query, options),
      /** A mandate with its open holds, the usage of its limits, and its shared budgets. */
      get: (id: string, options?: CallOptions) =>
        get<MandateDetail>(path`/v1/console/mandates/${id}`, undefined, options),
      /** Spend over time. */
      spend: (id: string, query?: GetMandateSpendQuery, options?: CallOptions) =>
        get<MandateSpend>(path`/v1/console/mandates/${id}/spend`, query, options),
    },
    transactions: {
      /** Transactions with the names of agents and sellers, newest first. */
      list: (query?: ListConsoleTransactionsQuery, options?: CallOptions): List<NamedTransaction> =>
        listOf(send, '/v1/console/transactions', query, options),
      /** A transaction with the nine checks and the compared values. */
      get: (id: string, options?: CallOptions) =>
        get<TransactionDetail>(path`/v1/console/transactions/${id}`, undefined, options),
      /** Every matching transaction as a CSV stream. */
      exportCsv: async (
        query?: ExportTransactionsQuery,
        options?: { readonly signal?: AbortSignal | undefined },
      ): Promise<ReadableStream<Uint8Array>> => {
        return open({ path: '/v1/console/transactions.csv', query }, options)
      },
    },
    agents: {
      /** Agents with their spend, newest first. */
      list: (query?: PageQuery, options?: CallOptions): List<AgentSummary> =>
        listOf(send, '/v1/console/agents', query, options),
      /** An agent with its spend, and what revoking it would stop. */
      get: (id: string, options?: CallOptions) =>
        get<AgentSummary>(path`/v1/console/agents/${id}`, undefined, options),
    },
    sellers: {
      /** Sellers with their revenue, newest first. */
      list: (query?: PageQuery, options?: CallOptions): List<SellerSummary> =>
        listOf(send, '/v1/console/sellers', query, options),
    },
    apiKeys: {
      /** The keys of the account, in both environments, with their last use. */
      list: (query?: PageQuery, options?: CallOptions): List<ListedApiKey> =>
        listOf(send, '/v1/console/api-keys', query, options),
    },
    /** Records by id, or by text in the name, purpose or domain of the latest 1,000 of each kind. */
    search: (q: string, options?: CallOptions) => get<Found[]>('/v1/console/search', { q }, options),
    /** The state of the service; for operators. */
    system: (options?: CallOptions) => get<System>('/v1/console/system', undefined, options),
  }
}

async function* feed(
  open: Open,
  { lastEventId, query, signal }: FeedOptions = {},
): AsyncGenerator<FeedMessage, void, undefined> {
  const headers: Record<string, string> = { accept: 'text/event-stream' }
  if (lastEventId !== undefined) headers['last-event-id'] = lastEventId
  const events = await open({ path: '/v1/console/feed', query, headers }, { signal })
  for await (const { event, id, data } of readEvents(events)) {
    if (event === 'transactions') yield { type: event, id, ...(JSON.parse(data) as FeedEvent) }
    if (event === 'end') {
      yield { type: event, ...(JSON.parse(data) as { reason: FeedEnd }) }
      return
    }
  }
}
