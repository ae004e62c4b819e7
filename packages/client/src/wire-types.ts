// Made from packages/wire by `npm run client-types`, as one file however long; a test compares.

export type AccountStatus = 'active' | 'disabled'

export type AgentStatus = 'active' | 'revoked'

export type AuditEventType =
  | 'payment.verified'
  | 'account.created'
  | 'account.disabled'
  | 'account.enabled'
  | 'api_key.created'
  | 'api_key.revoked'
  | 'agent.created'
  | 'agent.revoked'
  | 'mandate.created'
  | 'mandate.paused'
  | 'mandate.resumed'
  | 'mandate.revoked'
  | 'seller.created'
  | 'seller.released'
  | 'seller.verified'
  | 'proof.voided'
  | 'proofs.voided'
  | 'agents.stopped'
  | 'agents.resumed'
  | 'session.started'
  | 'session.ended'

export type FeedEnd = 'signed_out' | 'service_stopping'

export type ListedStatus = 'active' | 'paused' | 'revoked' | 'expired' | 'agent_revoked'

export type SessionKind = 'key' | 'oidc' | 'set_up'

export type Currency = 'USDC'

export type Environment = 'sandbox' | 'production'

export type MandateStatus = 'active' | 'paused' | 'revoked'

export type MandateMove = 'pause' | 'resume' | 'revoke'

export type VerificationFailure = 'proof_expired' | 'amount_mismatch' | 'invalid_signature' | 'nonce_reused'

export type ProofStatus = 'open' | 'captured' | 'expired' | 'voided'

export type DenialCode =
  | 'agent_revoked'
  | 'mandate_expired'
  | 'merchant_not_allowed'
  | 'amount_exceeds_per_transaction_limit'
  | 'total_budget_exceeded'

export type Role = 'operator' | 'owner' | 'agent' | 'merchant'

export type TransactionStatus = 'pending' | 'approved' | 'denied' | 'paid'

export type RiskFlag =
  'budget_nearly_spent' | 'expiry_near' | 'first_purchase_at_seller' | 'recent_denials' | 'unusual_rate'

/** The word in `detail` of an error answer. */
export type ErrorCode =
  | 'Not authenticated'
  | 'invalid_api_key'
  | 'insufficient_scope'
  | 'seller_not_yours'
  | 'merchant_not_allowed'
  | 'merchant_not_payee'
  | 'production_payments_not_supported'
  | 'There was an error parsing the body'
  | 'not_found'
  | 'Not Found'
  | 'Method Not Allowed'
  | 'request_timeout'
  | 'account_exists'
  | 'own_account'
  | 'seller_exists'
  | 'last_owner_key'
  | 'mandate_revoked'
  | 'proof_captured'
  | 'agent_revoked'
  | 'payload_too_large'
  | 'cross_site_request'
  | 'csrf_token_missing'
  | 'environment_not_in_session'
  | 'set_up_link_spent'
  | 'invalid_session'
  | 'no_session'
  | 'too_many_streams'
  | 'rate_limited'
  | 'query_too_slow'
  | 'invalid_idempotency_key'
  | 'idempotency_key_reused'
  | 'header_too_large'
  | 'bad_request'
  | 'internal_error'
  | 'shutting_down'
  | 'store_unavailable'

export interface Account {
  /** Id of the account. */
  id: string
  /** Name of the person or the organization that owns the account. */
  name: string
  /** E-mail address of the owner, as it was given. */
  email: string
  /** Id of the user at an external identity provider. */
  idp_user_id: string
  /** Whether its keys and sessions work: not while it is `disabled`. */
  status: AccountStatus
  /** When the account was created. */
  created_at: string
  /** When it was disabled; null while it is active. */
  disabled_at: string | null
}

export interface CreatedAccount {
  /** Id of the account. */
  id: string
  /** Name of the person or the organization that owns the account. */
  name: string
  /** E-mail address of the owner, as it was given. */
  email: string
  /** Id of the user at an external identity provider. */
  idp_user_id: string
  /** Whether its keys and sessions work: not while it is `disabled`. */
  status: AccountStatus
  /** When the account was created. */
  created_at: string
  /** When it was disabled; null while it is active. */
  disabled_at: string | null
  /** An owner key of each environment, shown this once. */
  api_keys: Array<IssuedApiKey>
}

export interface NewAccount {
  /** Name of the person or the organization that owns the account. */
  name: string
  /** E-mail address of the owner. Nothing is sent to it. */
  email: string
  /** Id of the user at an external identity provider; unique among all accounts. */
  idp_user_id: string
}

export interface Agent {
  /** Id of the agent. */
  id: string
  /** Name of the agent, for people to read. */
  name: string
  /** What the agent does, in free text; null when it was not given. */
  description: string | null
  /** What the agent says it can do; for people to read, and checked by nothing. */
  capabilities: Array<string>
  /** Whether the agent can spend: never again once it is `revoked`. */
  status: AgentStatus
  /** When the agent was created. */
  created_at: string
  /** When it was revoked; null while it is active. */
  revoked_at: string | null
}

export interface NewAgent {
  /** Name of the agent, for people to read; several may have the same. */
  name: string
  /** What the agent does, in free text; null or left out for none. */
  description?: string | null
  /** What the agent says it can do; for people to read, and checked by nothing. */
  capabilities?: Array<string>
}

export interface ApiKey {
  /** Id of the key; the text of the key is another thing. */
  id: string
  /** Account that the key belongs to. */
  account_id: string
  /** What the key is for, as its issuer wrote it; null when nothing was written. */
  label: string | null
  /** What the key may do. */
  role: Role
  /** Environment that the key works in. */
  environment: Environment
  /** Agent that a key of the role `agent` is bound to; null for every other role. */
  agent_id: string | null
  /** The last four characters of the key. */
  hint: string
  /** When the key was issued. */
  created_at: string
  /** When it was revoked; null while it works. */
  revoked_at: string | null
}

export interface IssuedApiKey {
  /** Id of the key; the text of the key is another thing. */
  id: string
  /** Account that the key belongs to. */
  account_id: string
  /** What the key is for, as its issuer wrote it; null when nothing was written. */
  label: string | null
  /** What the key may do. */
  role: Role
  /** Environment that the key works in. */
  environment: Environment
  /** Agent that a key of the role `agent` is bound to; null for every other role. */
  agent_id: string | null
  /** The last four characters of the key. */
  hint: string
  /** When the key was issued. */
  created_at: string
  /** When it was revoked; null while it works. */
  revoked_at: string | null
  /** The text of the key. It is shown this once. */
  key: string
}

export interface NewApiKey {
  /** What the key is for; null or left out for nothing. */
  label?: string | null
  /** What the key may do. Only operators issue keys of the role `operator`. */
  role: Role
  /** Environment that the key will work in. */
  environment: Environment
  /** Agent that the key is bound to: required for the role `agent`, null or left out for others. */
  agent_id?: string | null
  /** Account that the key is for; null or left out for the caller's own. Another one: operators only. */
  account_id?: string | null
}

export interface ListApiKeysQuery {
  /** Max items in the answer. A page of large records may end earlier. */
  limit?: number
  /** Where the page starts, from the `Link` header of the page before; the first page when left out. */
  cursor?: string
  /** Account that is meant; the key's own when left out. Another one: operators only. */
  account_id?: string
}

export interface RevokeApiKeyQuery {
  /** Account that is meant; the key's own when left out. Another one: operators only. */
  account_id?: string
}

export interface AuditEvent {
  /** Id of the event. */
  id: string
  /** What happened. */
  type: AuditEventType
  /** Id of the key or the session that acted, or `system`. */
  actor: string
  /** Id of what was changed; of a proof its nonce, of a payment its transaction. */
  subject_id: string
  /** What else is known of the change; the fields depend on `type`, and may be none. */
  data: Record<string, unknown>
  /** When it happened. */
  created_at: string
}

export interface ListAuditEventsQuery {
  /** Max items in the answer. A page of large records may end earlier. */
  limit?: number
  /** Where the page starts, from the `Link` header of the page before; the first page when left out. */
  cursor?: string
  /** Only events of this type. */
  type?: AuditEventType
  /** Only events about this record. */
  subject_id?: string
}

export interface AgentSummary {
  /** Id of the agent. */
  id: string
  /** Name of the agent, for people to read. */
  name: string
  /** What the agent does, in free text; null when it was not given. */
  description: string | null
  /** What the agent says it can do; for people to read, and checked by nothing. */
  capabilities: Array<string>
  /** Whether the agent can spend: never again once it is `revoked`. */
  status: AgentStatus
  /** When the agent was created. */
  created_at: string
  /** When it was revoked; null while it is active. */
  revoked_at: string | null
  /** Sum of its verified payments in USDC, under all mandates. */
  spent_total: string
  /** Sum in USDC that its open proofs hold; revoking the agent ends them. */
  held_total: string
  /** Number of its open proofs; 10,000 means that many or more. */
  open_holds: number
  /** Number of its mandates that are active and not expired. */
  active_mandates: number
  /** What is left in USDC of its active mandates. */
  remaining_budget: string
  /** Number of API keys of the role `agent` that are bound to it and not revoked. */
  working_keys: number
}

export interface ListConsoleAgentsQuery {
  /** Max items in the answer. A page of large records may end earlier. */
  limit?: number
  /** Where the page starts, from the `Link` header of the page before; the first page when left out. */
  cursor?: string
}

export interface ListedApiKey {
  /** Id of the key; the text of the key is another thing. */
  id: string
  /** Account that the key belongs to. */
  account_id: string
  /** What the key is for, as its issuer wrote it; null when nothing was written. */
  label: string | null
  /** What the key may do. */
  role: Role
  /** Environment that the key works in. */
  environment: Environment
  /** Agent that a key of the role `agent` is bound to; null for every other role. */
  agent_id: string | null
  /** The last four characters of the key. */
  hint: string
  /** When the key was issued. */
  created_at: string
  /** When it was revoked; null while it works. */
  revoked_at: string | null
  /** When it was last used, to the minute or so; null when it was not used yet. */
  last_used_at: string | null
  /** Name of the agent that the key is bound to; null when it is bound to none. */
  agent_name: string | null
}

export interface ListConsoleApiKeysQuery {
  /** Max items in the answer. A page of large records may end earlier. */
  limit?: number
  /** Where the page starts, from the `Link` header of the page before; the first page when left out. */
  cursor?: string
}

export interface FeedEvent {
  /** What was recorded, oldest first. */
  transactions: Array<NamedTransaction>
  /** Whether more was recorded before these than the feed carries; the list of transactions has all. */
  has_gap: boolean
}

export interface StreamTransactionsQuery {
  /** As the header `X-Purser-Environment`, for a browser, which cannot set one here. */
  environment?: Environment
  /** As the header `Last-Event-ID`, for who cannot set one. */
  last_event_id?: string
}

export interface ListedMandate {
  /** Id of the mandate. */
  id: string
  /** Agent that the mandate is for. */
  agent_id: string
  /** What the budget is for, in free text. */
  purpose: string
  /** Total budget in USDC, as it was written. */
  max_spend_total: string
  /** Cap for one payment in USDC, as it was written. */
  max_spend_per_transaction: string
  /** Currency of the amounts; always `USDC`. */
  currency: 'USDC'
  /** Seller domains that may be paid; `*` allows every seller, an empty list none. */
  allowed_sellers: Array<string>
  /** Categories that a proposed payment may have; an empty list, or `*`, allows every category. */
  allowed_categories: Array<string>
  /** When the mandate ends, as it was written: time with its zone (RFC 3339). Its `status` stays as it is. */
  expires_at: string
  /** Only an `active` mandate allows payments, until it expires. */
  status: MandateStatus
  /** Sum of all verified payments in USDC, as decimal text. */
  spent_total: string
  /** Sum in USDC that open proofs hold: charged when one is verified, free again when it ends. */
  held_total: string
  /** `max_spend_total` minus `spent_total` in USDC; what is held is not taken off. */
  remaining_budget: string
  /** When the mandate was created. */
  created_at: string
  /** When its status last changed; at first when it was created. */
  updated_at: string
  /** Name of its agent. */
  agent_name: string
  /** Whether its agent is revoked, so that nothing can be spent, whatever its `status`. */
  is_agent_revoked: boolean
  /** Whether a stop of all agents paused it. */
  is_stopped: boolean
}

export interface MandateDetail {
  /** Id of the mandate. */
  id: string
  /** Agent that the mandate is for. */
  agent_id: string
  /** What the budget is for, in free text. */
  purpose: string
  /** Total budget in USDC, as it was written. */
  max_spend_total: string
  /** Cap for one payment in USDC, as it was written. */
  max_spend_per_transaction: string
  /** Currency of the amounts; always `USDC`. */
  currency: 'USDC'
  /** Seller domains that may be paid; `*` allows every seller, an empty list none. */
  allowed_sellers: Array<string>
  /** Categories that a proposed payment may have; an empty list, or `*`, allows every category. */
  allowed_categories: Array<string>
  /** When the mandate ends, as it was written: time with its zone (RFC 3339). Its `status` stays as it is. */
  expires_at: string
  /** Only an `active` mandate allows payments, until it expires. */
  status: MandateStatus
  /** Sum of all verified payments in USDC, as decimal text. */
  spent_total: string
  /** Sum in USDC that open proofs hold: charged when one is verified, free again when it ends. */
  held_total: string
  /** `max_spend_total` minus `spent_total` in USDC; what is held is not taken off. */
  remaining_budget: string
  /** When the mandate was created. */
  created_at: string
  /** When its status last changed; at first when it was created. */
  updated_at: string
  /** Name of its agent. */
  agent_name: string
  /** Whether its agent is revoked, so that nothing can be spent, whatever its `status`. */
  is_agent_revoked: boolean
  /** Whether a stop of all agents paused it. */
  is_stopped: boolean
  /** Number of verified payments. */
  paid_count: number
  /** Number of evaluations that were denied. */
  denied_count: number
  /** Open proofs, soonest to expire first, at most 100; `held_total` counts all. */
  open_holds: Array<ProofRecord>
}

export interface MandateSpend {
  /** Id of the mandate. */
  mandate_id: string
  /** Width of a bucket. */
  step: 'hour' | 'day'
  /** Sum in USDC of what was paid before the first bucket. */
  spent_before: string
  /** The buckets, oldest first, also those in which nothing happened. */
  stretches: Array<Activity>
}

export interface GetMandateSpendQuery {
  /** Start of the first bucket, as time with its zone, rounded down to a quarter of an hour. When left out, the last bucket is the current one. */
  starts_at?: string
  /** Width of a bucket; `day` when left out. */
  step?: 'hour' | 'day'
  /** Number of buckets. */
  stretches?: number
}

export interface ListConsoleMandatesQuery {
  /** Max items in the answer. A page of large records may end earlier. */
  limit?: number
  /** Where the page starts, from the `Link` header of the page before; the first page when left out. */
  cursor?: string
  /** Only mandates of this agent. */
  agent_id?: string
  /** Only mandates in this state. */
  status?: ListedStatus
  /** Only mandates with this text in their purpose; upper and lower case are the same. */
  q?: string
}

export interface Activity {
  /** When the bucket begins. */
  starts_at: string
  /** Number of verified payments. */
  paid_count: number
  /** Sum of those payments in USDC. */
  paid_total: string
  /** Number of evaluations that were approved. */
  approved_count: number
  /** Number of evaluations and proofs that were denied. */
  denied_count: number
}

export interface Checklist {
  /** Whether there is an agent. */
  agent: boolean
  /** Whether there is a mandate. */
  mandate: boolean
  /** Whether there is a seller. */
  seller: boolean
  /** Whether a proof was issued. */
  proof: boolean
  /** Whether a payment was verified. */
  paid: boolean
}

export interface NearBudget {
  /** Id of the mandate. */
  mandate_id: string
  /** Agent that the mandate is for. */
  agent_id: string
  /** Name of that agent. */
  agent_name: string
  /** What the budget is for, in free text. */
  purpose: string
  /** Total budget in USDC, as it was written. */
  max_spend_total: string
  /** Sum of its verified payments in USDC. */
  spent_total: string
  /** Sum in USDC that its open proofs hold. */
  held_total: string
  /** `max_spend_total` minus `spent_total` in USDC. */
  remaining_budget: string
  /** Sum in USDC of what was paid since `last_day_starts_at`. */
  spent_last_day: string
  /** When the budget ends if it is spent as in the last 24 hours; null when nothing was paid in them, or the mandate expires before. */
  exhausted_at: string | null
  /** When the mandate ends, as it was written. */
  expires_at: string
}

export interface Overview {
  /** The moment that the figures are of. */
  at: string
  /** When today began, as it was asked for. */
  day_starts_at: string
  /** Sum in USDC of what was paid since `day_starts_at`. */
  spent_today: string
  /** Number of payments since `day_starts_at`. */
  paid_today: number
  /** Total budgets minus what is spent, in USDC, over mandates that are active and not expired, of agents that are not revoked. */
  remaining: string
  /** Number of those mandates. */
  active_mandates: number
  /** The proofs that can still be charged. */
  open_holds: {
    /** Number of open proofs; 10,000 means that many or more. */
    count: number
    /** Sum in USDC that they hold. */
    amount: string
  }
  /** When the last 24 hours begin, at a quarter of an hour. */
  last_day_starts_at: string
  /** Number of evaluations and proofs that were denied in them. Of the proofs of one mandate the first ten of a minute are transactions, and counted in `denial_reasons`. */
  denied_last_day: number
  /** 24 buckets of one hour, oldest first; the last one is not over. */
  hours: Array<Activity>
  /** Active mandates, the one closest to its limit first. */
  nearest_budgets: Array<NearBudget>
  /** Denials of the last 24 hours by reason, the most frequent first. */
  denial_reasons: Array<{
    /** The check that failed. */
    reason_code: DenialCode
    /** Number of transactions that were denied for it. */
    denied_count: number
  }>
  /** Number of mandates that a stop paused and that are still paused. */
  stopped_mandates: number
  /** The steps to a first purchase, each done or not. */
  checklist: Checklist
}

export interface GetOverviewQuery {
  /** When today began for whoever looks, as time with its zone, rounded down to a quarter of an hour; midnight UTC when left out. */
  day_starts_at?: string
}

export interface Found {
  /** What was found. */
  kind: 'agent' | 'mandate' | 'seller' | 'transaction'
  /** Id of what was found. */
  id: string
  /** Its name, purpose or domain, for people to read. */
  label: string
}

export interface SearchConsoleQuery {
  /** An id, or a part of a text; nothing is found when left out. */
  q?: string
}

export interface SellerSummary {
  /** Id of the seller. */
  id: string
  /** Name of the seller, for people to read. */
  name: string
  /** Lower-case ASCII host name. */
  domain: string
  /** Prices, in the seller's own form: kept as it is, and read by nothing in the service. */
  price_config: Record<string, unknown>
  /** When the seller was registered. */
  created_at: string
  /** There while the domain is not verified: the seller collects nothing from other accounts. */
  status?: 'pending'
  /** Number of payments to it. */
  paid_count: number
  /** Sum of the payments to it in USDC. */
  revenue_total: string
  /** When the last 30 days begin, at midnight UTC. */
  last_month_starts_at: string
  /** Sum in USDC of the payments to it in the last 30 days. */
  revenue_last_month: string
  /** Why verifications for its domain failed in the last 30 days. */
  failures_last_month: Array<{
    /** The step that failed. */
    reason: VerificationFailure
    /** Number of verifications that failed at it; counted a few seconds late, and a crash may lose the latest. */
    count: number
  }>
}

export interface ListConsoleSellersQuery {
  /** Max items in the answer. A page of large records may end earlier. */
  limit?: number
  /** Where the page starts, from the `Link` header of the page before; the first page when left out. */
  cursor?: string
}

export interface NewSession {
  /** Text of an API key of the role `owner` or `operator`; null or left out when `set_up_token` is sent. */
  api_key?: string | null
  /** Token of the set-up link of a first start; null or left out when `api_key` is sent. */
  set_up_token?: string | null
}

export interface Session {
  /** Id of the session; its token is in the cookie. */
  id: string
  /** How the session began. */
  kind: SessionKind
  /** Account that is signed in. */
  account: {
    /** Id of the account. */
    id: string
    /** Name of the person or the organization that owns the account. */
    name: string
    /** E-mail address of the owner, as it was given. */
    email: string
  }
  /** What the session may do. */
  role: 'operator' | 'owner'
  /** Key that the session ends with; null for one that began at the identity provider. */
  key_id: string | null
  /** Environments that the session sees; `X-Purser-Environment` chooses, the first when it is left out. */
  environments: Array<Environment>
  /** To be sent as `X-Purser-Console` with every request that changes something. */
  csrf_token: string
  /** When the session began. */
  created_at: string
  /** When the session ends if it is not used; each use moves it, up to `ends_at`. */
  expires_at: string
  /** When the session ends however it is used. */
  ends_at: string
}

export interface SignInOptions {
  /** Version of the interface, such as `0.1.0`. */
  version: string
  /** Path at which a browser begins to sign in at the identity provider; null when none is set up. */
  oidc_path: string | null
}

export interface ConsoleStatus {
  /** The time on the service's clock. */
  at: string
  /** Number of mandates that a stop paused and that are still paused. */
  stopped_mandates: number
}

export interface Resumed {
  /** Number of mandates that are active again. */
  resumed_mandates: number
}

export interface Stopped {
  /** Id of the stop, by which it is undone. */
  stop_id: string
  /** Number of mandates that the stop has paused. */
  paused_mandates: number
  /** Number of open proofs that it has ended. */
  voided_holds: number
  /** Number of mandates that could not be paused yet, because their rows are locked for example. The service keeps trying until they are paused, the stop is undone, or another stop is pressed. */
  failed_mandates: number
}

export interface System {
  /** Version of the service. */
  version: string
  /** Version of the interface that it serves. */
  interface_version: string
  /** Version of Node.js that it runs on. */
  node_version: string
  /** When the process that answers was started. */
  started_at: string
  /** Whole seconds since then. */
  uptime_seconds: number
  /** Number of processes that answer on this machine; the figures below are of the one that answered. */
  workers: number
  /** The database. */
  store: {
    /** Kind of database. */
    kind: 'sqlite' | 'postgres'
    /** The file, or the server without its password. */
    place: string
    /** Number of migrations that the database has. */
    schema_version: number
  }
  /** What waits for the database. */
  queue: {
    /** Number of operations that wait for a transaction. */
    waiting: number
    /** Max number that may wait; one more is turned away. */
    most: number
  }
  /** Transactions of this process; durations are those of the last 1,024. */
  commit: {
    /** Number of transactions since the start. */
    count: number
    /** Median duration of a transaction in milliseconds; null before the first. */
    p50_ms: number | null
    /** 99th percentile of the duration in milliseconds; null before the first. */
    p99_ms: number | null
  }
  /** How much room the ledger takes and has. */
  disk: {
    /** Size in bytes of the file and its log, or of the database on its server. */
    ledger_bytes: number
    /** Free bytes on the disk of the file; null for a server, whose disk is not seen from here. */
    free_bytes: number | null
    /** Size of that disk in bytes; null for a server, whose disk is not seen from here. */
    total_bytes: number | null
  }
  /** Memory of the process in bytes. */
  memory_bytes: number
  /** Number of live feeds that are open. */
  open_feeds: number
}

export interface NamedTransaction {
  /** Id of the transaction. */
  id: string
  /** `paid`: a verified payment. `approved` or `denied`: a decision of evaluate, which charges nothing. */
  status: TransactionStatus
  /** Agent that pays or would pay. */
  agent_id: string
  /** Mandate that it pays or would pay under. */
  mandate_id: string
  /** Amount in USDC, as decimal text, as it was asked for. */
  amount: string
  /** Currency of the amounts; always `USDC`. */
  currency: 'USDC'
  /** Address of what is bought. */
  resource_url: string
  /** Host name of the seller, as it was given. */
  merchant_domain: string
  /** Seller that is registered under the domain; null when there is none. */
  seller_id: string | null
  /** Category that was given; null when there was none. */
  category: string | null
  /** Why the decision was made; null for a payment. */
  reason_code:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
    | null
  /** What was asked for, the limit, and what would help; null unless it was denied. */
  reason_detail: string | null
  /** When the payment or the decision was made. */
  created_at: string
  /** Name of the agent; null when it is another account's, or does not exist. */
  agent_name: string | null
  /** Purpose of the mandate; null when it is another account's, or does not exist. */
  mandate_purpose: string | null
  /** Name of the seller; null when it is another account's, or not registered. */
  seller_name: string | null
}

export interface PolicyCheck {
  /** Number of the check, in their order. */
  check: number
  /** What the check asks. */
  name:
    | 'agent_exists'
    | 'agent_active'
    | 'mandate_exists'
    | 'mandate_active'
    | 'mandate_not_expired'
    | 'seller_allowed'
    | 'category_allowed'
    | 'within_transaction_limit'
    | 'within_total_budget'
  /** What came of it. `not_reached`: an earlier one failed. `not_asked`: this kind of decision does not ask it. `unknown`: it was not recorded. */
  state: 'passed' | 'failed' | 'not_reached' | 'not_asked' | 'unknown'
  /** The values that were compared, such as `4.20 + 6.00 > 10.00`; may be empty. */
  values: string
}

export interface TransactionDetail {
  /** The transaction itself. */
  transaction: Transaction
  /** Name of the agent; null when it is another account's, or does not exist. */
  agent_name: string | null
  /** Purpose of the mandate; null when it is another account's, or does not exist. */
  mandate_purpose: string | null
  /** When the checks were made: for a payment, when its proof was issued. Null when `checks` is empty. */
  checked_at: string | null
  /** The nine checks in order; empty for what was received from another account, whose mandate is its own. */
  checks: Array<PolicyCheck>
  /** Proof that the payment captured; null for a decision, and for another account's. */
  proof: ProofRecord | null
}

export interface ExportTransactionsQuery {
  /** As the header `X-Purser-Environment`, for a link, which cannot set one. */
  environment?: Environment
  /** Only those of this agent. */
  agent_id?: string
  /** Only those under this mandate. */
  mandate_id?: string
  /** Only those with this status. */
  status?: TransactionStatus
  /** Only those with this domain. */
  merchant_domain?: string
  /** `sent`: only those of agents of this account. `received`: only those of agents of other accounts. */
  direction?: 'sent' | 'received'
  /** Only decisions with this reason. */
  reason_code?:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
  /** Only those made at or after this time, which has a zone. */
  created_from?: string
  /** Only those made before this time, which has a zone. */
  created_before?: string
}

export interface ListConsoleTransactionsQuery {
  /** Max items in the answer. A page of large records may end earlier. */
  limit?: number
  /** Where the page starts, from the `Link` header of the page before; the first page when left out. */
  cursor?: string
  /** Only those of this agent. */
  agent_id?: string
  /** Only those under this mandate. */
  mandate_id?: string
  /** Only those with this status. */
  status?: TransactionStatus
  /** Only those with this domain. */
  merchant_domain?: string
  /** `sent`: only those of agents of this account. `received`: only those of agents of other accounts. */
  direction?: 'sent' | 'received'
  /** Only decisions with this reason. */
  reason_code?:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
  /** Only those made at or after this time, which has a zone. */
  created_from?: string
  /** Only those made before this time, which has a zone. */
  created_before?: string
}

export interface ErrorBody {
  /** Code of the error, such as `not_found`; the reference has a page for each. */
  detail: string
}

export interface ValidationErrorBody {
  /** The first 20 faults, in the order of the fields. */
  detail: Array<ValidationItem>
}

export interface ValidationItem {
  /** Kind of fault, such as `missing` or `string_type`. */
  type: string
  /** Where the fault lies: `body` or `query`, then field names and list indexes. */
  loc: Array<string | number>
  /** What is wrong and what would be right, in a sentence. */
  msg: string
  /** What was sent. A long text is cut and ends in `…`; a large object or list is left out. */
  input?: unknown
  /** The limits that were broken, by name; left out where there are none. */
  ctx?: Record<string, unknown>
}

export interface Mandate {
  /** Id of the mandate. */
  id: string
  /** Agent that the mandate is for. */
  agent_id: string
  /** What the budget is for, in free text. */
  purpose: string
  /** Total budget in USDC, as it was written. */
  max_spend_total: string
  /** Cap for one payment in USDC, as it was written. */
  max_spend_per_transaction: string
  /** Currency of the amounts; always `USDC`. */
  currency: 'USDC'
  /** Seller domains that may be paid; `*` allows every seller, an empty list none. */
  allowed_sellers: Array<string>
  /** Categories that a proposed payment may have; an empty list, or `*`, allows every category. */
  allowed_categories: Array<string>
  /** When the mandate ends, as it was written: time with its zone (RFC 3339). Its `status` stays as it is. */
  expires_at: string
  /** Only an `active` mandate allows payments, until it expires. */
  status: MandateStatus
  /** Sum of all verified payments in USDC, as decimal text. */
  spent_total: string
  /** Sum in USDC that open proofs hold: charged when one is verified, free again when it ends. */
  held_total: string
  /** `max_spend_total` minus `spent_total` in USDC; what is held is not taken off. */
  remaining_budget: string
  /** When the mandate was created. */
  created_at: string
  /** When its status last changed; at first when it was created. */
  updated_at: string
}

export interface NewMandate {
  /** Agent that the mandate is for. */
  agent_id: string
  /** What the budget is for, in free text. */
  purpose: string
  /** Total budget in USDC, as decimal text. */
  max_spend_total: string
  /** Cap for one payment in USDC, as decimal text. */
  max_spend_per_transaction: string
  /** Currency of the amounts; only `USDC` is accepted. */
  currency?: 'USDC'
  /** Seller domains that may be paid; `*` allows every seller, an empty list none. */
  allowed_sellers?: Array<string>
  /** Categories that a proposed payment may have, checked by evaluate and verify-agent; an empty list, or `*`, allows every category. */
  allowed_categories?: Array<string>
  /** Time with its zone (RFC 3339), from which on the mandate allows nothing. */
  expires_at: string
}

export interface PageQuery {
  /** Max items in the answer. A page of large records may end earlier. */
  limit?: number
  /** Where the page starts, from the `Link` header of the page before; the first page when left out. */
  cursor?: string
}

export interface NotVerified {
  /** Always `false`: this request charged nothing. */
  verified: false
  /** The first step that failed. */
  reason: VerificationFailure
}

export interface Proof {
  /** Payment scheme; `svc-sandbox` in the sandbox. */
  scheme: string
  /** Network of the scheme; `sandbox` in the sandbox. */
  network: string
  /** Agent that asked for the proof. */
  agentId: string
  /** Mandate that is charged. */
  mandateId: string
  /** Amount to be paid in USDC, as decimal text; compared as text. */
  amount: string
  /** Currency of the amount; compared as text. */
  currency: string
  /** Address of what is bought. */
  resource: string
  /** UUID of the proof: a proof is charged once, and looked up by it. */
  nonce: string
  /** When the proof was issued: time with its zone (RFC 3339). It can be verified for five minutes. */
  timestamp: string
  /** HMAC-SHA256 over the other fields, in hexadecimal. */
  signature: string
}

export interface ProofDenial {
  /** Always `denied`. */
  decision: 'denied'
  /** The first check that failed. */
  reason_code: DenialCode
  /** What was asked for, the limit, and what would help. */
  reason_detail: string
  /** Agent of the request. */
  agent_id: string
  /** Mandate of the request. */
  mandate_id: string
}

export interface ProofRecord {
  /** UUID of the proof. */
  nonce: string
  /** What has become of the proof: only an `open` one can be charged, and only a `captured` one was. */
  status: ProofStatus
  /** Agent that asked for the proof. */
  agent_id: string
  /** Mandate that it draws from. */
  mandate_id: string
  /** Amount of the proof in USDC, as decimal text. */
  amount: string
  /** Currency of the amounts; always `USDC`. */
  currency: 'USDC'
  /** Address of what is bought. */
  resource: string
  /** When the proof was issued. */
  issued_at: string
  /** When its hold ends unless it is charged before. */
  expires_at: string
  /** Transaction that records the charge; null while, or because, there is none. */
  transaction_id: string | null
}

export interface ProofRequest {
  /** Agent that pays. */
  agent_id: string
  /** Mandate that it pays under. */
  mandate_id: string
  /** Amount to be paid in USDC, as decimal text. */
  amount: string
  /** Currency of the amounts; only `USDC` is accepted. */
  currency?: 'USDC'
  /** Address of what is bought; its host decides who may collect. */
  resource_url: string
}

export interface Verified {
  /** Always `true`: the charge is recorded. */
  verified: true
  /** Transaction that records the charge. */
  transaction_id: string
}

export interface VerifyRequest {
  /** The whole proof, as it was issued. */
  proof: Proof
  /** Host name under which the seller collects. */
  merchant_domain: string
  /** Price in USDC, as decimal text; must be the proof's `amount`, compared as text. */
  expected_amount: string
  /** Currency of the price; must be the proof's `currency`, compared as text. */
  expected_currency?: string
}

export interface Approval {
  /** Always `approved`. */
  decision: 'approved'
  /** Always `within_policy`. */
  reason_code: 'within_policy'
  /** Always null: an approval needs no explanation. */
  reason_detail: null
  /** Agent of the request. */
  agent_id: string
  /** Mandate of the request. */
  mandate_id: string
  /** Transaction that records the decision. */
  transaction_id: string
}

export interface Denial {
  /** Always `denied`. */
  decision: 'denied'
  /** The first check that failed. */
  reason_code: DenialCode
  /** What was asked for, the limit, and what would help. */
  reason_detail: string
  /** Agent of the request. */
  agent_id: string
  /** Mandate of the request. */
  mandate_id: string
  /** Transaction that records the decision. */
  transaction_id: string
}

export interface ProposedPayment {
  /** Agent that would pay. */
  agent_id: string
  /** Mandate that it would pay under. */
  mandate_id: string
  /** Host name of the seller, compared with `allowed_sellers`. */
  merchant_domain: string
  /** Amount to be paid in USDC, as decimal text. */
  amount: string
  /** Currency of the amounts; only `USDC` is accepted. */
  currency?: 'USDC'
  /** Address of what would be bought; recorded, and not visited. */
  resource_url: string
  /** Category of the payment, compared with `allowed_categories`; null or left out for none. */
  category?: string | null
}

export interface NewSeller {
  /** Name of the seller, for people to read. */
  name: string
  /** Host name that payments name as `merchant_domain`; one seller in each environment has it. */
  domain: string
  /** Prices, in the seller's own form: kept as it is, and read by nothing in the service. */
  price_config: Record<string, unknown>
}

export interface ReleasedDomain {
  /** Lower-case ASCII host name that is free now. */
  domain: string
  /** Seller that had the domain. */
  seller_id: string
  /** Account of that seller. */
  account_id: string
}

export interface Seller {
  /** Id of the seller. */
  id: string
  /** Name of the seller, for people to read. */
  name: string
  /** Lower-case ASCII host name. */
  domain: string
  /** Prices, in the seller's own form: kept as it is, and read by nothing in the service. */
  price_config: Record<string, unknown>
  /** When the seller was registered. */
  created_at: string
  /** There while the domain is not verified: the seller collects nothing from other accounts. */
  status?: 'pending'
}

export interface SellerVerification {
  /** Lower-case ASCII host name. */
  domain: string
  /** Id of the seller. */
  seller_id: string
  /** Whether the seller has the domain. */
  status: 'pending' | 'verified'
  /** The name of the DNS TXT record. */
  record_name: string
  /** The address of the file that does instead of the record. */
  file_url: string
  /** The text of the record, or of a line of the file. */
  text: string
  /** What was not found when the proof was looked for; null when it was found, or not looked for. */
  missing: string | null
}

export interface AccountSession {
  /** Id of the session; its token is another thing. */
  id: string
  /** Account that is signed in. */
  account_id: string
  /** How the session began. */
  kind: SessionKind
  /** What the session may do. */
  role: 'operator' | 'owner'
  /** Key that the session ends with; null for one that began at the identity provider. */
  key_id: string | null
  /** Environments that the session sees. */
  environments: Array<Environment>
  /** When the session began. */
  created_at: string
  /** When it was last used, to within five minutes. */
  used_at: string
  /** When it ends unless it is used again. */
  expires_at: string
  /** Whether it is the session that this request came with. */
  is_current: boolean
}

export interface EndSessionOfAccountQuery {
  /** Account that is meant; the key's own when left out. Another one: operators only. */
  account_id?: string
}

export interface ListSessionsQuery {
  /** Max items in the answer. A page of large records may end earlier. */
  limit?: number
  /** Where the page starts, from the `Link` header of the page before; the first page when left out. */
  cursor?: string
  /** Account that is meant; the key's own when left out. Another one: operators only. */
  account_id?: string
}

export interface Transaction {
  /** Id of the transaction. */
  id: string
  /** `paid`: a verified payment. `approved` or `denied`: a decision of evaluate, which charges nothing. */
  status: TransactionStatus
  /** Agent that pays or would pay. */
  agent_id: string
  /** Mandate that it pays or would pay under. */
  mandate_id: string
  /** Amount in USDC, as decimal text, as it was asked for. */
  amount: string
  /** Currency of the amounts; always `USDC`. */
  currency: 'USDC'
  /** Address of what is bought. */
  resource_url: string
  /** Host name of the seller, as it was given. */
  merchant_domain: string
  /** Seller that is registered under the domain; null when there is none. */
  seller_id: string | null
  /** Category that was given; null when there was none. */
  category: string | null
  /** Why the decision was made; null for a payment. */
  reason_code:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
    | null
  /** What was asked for, the limit, and what would help; null unless it was denied. */
  reason_detail: string | null
  /** When the payment or the decision was made. */
  created_at: string
}

export interface TransactionsQuery {
  /** Only those of this agent. */
  agent_id?: string
  /** Only those under this mandate. */
  mandate_id?: string
  /** Only those with this status. */
  status?: TransactionStatus
  /** Only those with this domain. */
  merchant_domain?: string
  /** Only those made at or after this time, which has a zone. */
  created_from?: string
  /** Only those made before this time, which has a zone. */
  created_to?: string
}

export interface ListTransactionsQuery {
  /** Max items in the answer. A page of large records may end earlier. */
  limit?: number
  /** Where the page starts, from the `Link` header of the page before; the first page when left out. */
  cursor?: string
  /** Only those of this agent. */
  agent_id?: string
  /** Only those under this mandate. */
  mandate_id?: string
  /** Only those with this status. */
  status?: TransactionStatus
  /** Only those with this domain. */
  merchant_domain?: string
  /** Only those made at or after this time, which has a zone. */
  created_from?: string
  /** Only those made before this time, which has a zone. */
  created_to?: string
}

export interface AgentReport {
  /** Whether the agent exists and is active. */
  verified: boolean
  /** Whether every check passed. */
  authorized: boolean
  /** Whether the agent can pay under this mandate. */
  payment_ready: boolean
  /** The agent that was asked about. */
  agent: {
    /** Id of the agent, as it was asked about. */
    id: string
    /** Name of the agent; `unknown` when there is no such agent. */
    name: string
    /** What the agent says it can do; empty when there is no such agent. */
    capabilities: Array<string>
    /** Status of the agent; `unknown` when there is no such agent. */
    status: 'active' | 'revoked' | 'unknown'
  }
  /** The mandate that was asked about. */
  mandate: {
    /** Id of the mandate, as it was asked about. */
    id: string
    /** What the budget is for; empty when there is no such mandate. */
    purpose: string
    /** Currency of the amounts; always `USDC`. */
    currency: string
    /** Total budget minus what is spent, in USDC; `0` when there is no such mandate. */
    remaining_budget: string
    /** When the mandate ends, as it was written; empty when there is no such mandate. */
    expires_at: string
  }
  /** How unusual the payment is for this agent and mandate. */
  risk: {
    /** From 0, nothing odd, to 100; it changes no decision. */
    score: number
    /** What is odd about the payment; empty for nothing. */
    flags: Array<RiskFlag>
  }
  /** `accept` when `authorized`, `deny` otherwise. */
  recommendation: 'accept' | 'deny'
  /** `within_policy`, or the first check that failed. */
  reason_code:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
}
