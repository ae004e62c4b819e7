import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import { queryText, type Send } from '../send.ts'
import type {
  AgentSummary,
  ExportTransactionsQuery,
  Found,
  GetMandateSpendQuery,
  GetOverviewQuery,
  ListConsoleMandatesQuery,
  ListConsoleTransactionsQuery,
  ListedApiKey,
  ListedMandate,
  MandateDetail,
  MandateSpend,
  NewSession,
  Overview,
  PageQuery,
  Resumed,
  SellerSummary,
  Session,
  SignInOptions,
  Stopped,
  StreamTransactionsQuery,
  System,
  Transaction,
  TransactionDetail,
} from '../wire-types.ts'

export type Console = ReturnType<typeof consoleOf>

/** What the web console asks: sessions of a browser, and figures that are kept for its screens. */
export function consoleOf(send: Send, base: string) {
  async function get<Answer>(path: string, query?: object, options?: CallOptions): Promise<Answer> {
    return (await send({ method: 'GET', path, query }, options)).body as Answer
  }

  return {
    /** The ways to sign in; needs no session. */
    getSignInOptions: (options?: CallOptions) =>
      get<SignInOptions>('/v1/console/sign-in', undefined, options),
    /** Exchanges a key, or the token of a set-up link, for the session of a cookie. */
    startSession: async (body: NewSession, options?: CallOptions): Promise<Session> =>
      (await send({ method: 'POST', path: '/v1/console/session', body }, options)).body as Session,
    getSession: (options?: CallOptions) => get<Session>('/v1/console/session', undefined, options),
    endSession: async (options?: CallOptions): Promise<void> => {
      await send({ method: 'DELETE', path: '/v1/console/session' }, options)
    },

    getOverview: (query?: GetOverviewQuery, options?: CallOptions) =>
      get<Overview>('/v1/console/overview', query, options),
    /** Pauses every active mandate: nothing is authorised after the answer. */
    stopAgents: async (options?: CallOptions): Promise<Stopped> =>
      (await send({ method: 'POST', path: '/v1/console/stop' }, options)).body as Stopped,
    /** Resumes what one stop paused, or every stop. */
    resumeAgents: async (body: { stop_id?: string }, options?: CallOptions): Promise<Resumed> =>
      (await send({ method: 'POST', path: '/v1/console/resume', body }, options)).body as Resumed,

    listMandates: (query?: ListConsoleMandatesQuery, options?: CallOptions): List<ListedMandate> =>
      listOf(send, '/v1/console/mandates', query, options),
    getMandate: (id: string, options?: CallOptions) =>
      get<MandateDetail>(path`/v1/console/mandates/${id}`, undefined, options),
    getMandateSpend: (id: string, query?: GetMandateSpendQuery, options?: CallOptions) =>
      get<MandateSpend>(path`/v1/console/mandates/${id}/spend`, query, options),

    listTransactions: (query?: ListConsoleTransactionsQuery, options?: CallOptions): List<Transaction> =>
      listOf(send, '/v1/console/transactions', query, options),
    getTransaction: (id: string, options?: CallOptions) =>
      get<TransactionDetail>(path`/v1/console/transactions/${id}`, undefined, options),
    /** The address of the export as CSV, for a browser to download. */
    exportAddress: (query?: ExportTransactionsQuery): string =>
      `${base}/v1/console/transactions.csv${queryText(query)}`,
    /** The address of the live feed, for an `EventSource`. */
    feedAddress: (query?: StreamTransactionsQuery): string => `${base}/v1/console/feed${queryText(query)}`,

    listAgents: (query?: PageQuery, options?: CallOptions): List<AgentSummary> =>
      listOf(send, '/v1/console/agents', query, options),
    getAgent: (id: string, options?: CallOptions) =>
      get<AgentSummary>(path`/v1/console/agents/${id}`, undefined, options),
    listSellers: (query?: PageQuery, options?: CallOptions): List<SellerSummary> =>
      listOf(send, '/v1/console/sellers', query, options),
    listApiKeys: (query?: PageQuery, options?: CallOptions): List<ListedApiKey> =>
      listOf(send, '/v1/console/api-keys', query, options),
    /** What has this id, or this text in its name, purpose or domain. */
    search: (query: { q: string }, options?: CallOptions) =>
      get<Found[]>('/v1/console/search', query, options),
    /** How the service itself is; operators only. */
    getSystem: (options?: CallOptions) => get<System>('/v1/console/system', undefined, options),
  }
}
