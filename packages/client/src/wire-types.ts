// Made from packages/wire by `npm run client-types`, as one file however long; a test compares.

export type AgentStatus = 'active' | 'revoked'

export type Role = 'operator' | 'owner' | 'agent' | 'merchant'

export type AuditEventType =
  | 'payment.verified'
  | 'account.created'
  | 'api_key.created'
  | 'api_key.revoked'
  | 'agent.created'
  | 'agent.revoked'
  | 'mandate.created'
  | 'mandate.paused'
  | 'mandate.resumed'
  | 'mandate.revoked'
  | 'seller.created'
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
  | 'seller_exists'
  | 'last_owner_key'
  | 'mandate_revoked'
  | 'agent_revoked'
  | 'payload_too_large'
  | 'cross_site_request'
  | 'csrf_token_missing'
  | 'environment_not_in_session'
  | 'set_up_link_spent'
  | 'invalid_session'
  | 'no_session'
  | 'too_many_streams'
  | 'query_too_slow'
  | 'invalid_idempotency_key'
  | 'header_too_large'
  | 'bad_request'
  | 'internal_error'
  | 'store_unavailable'

export interface Account {
  /** Opaque identifier. */
  id: string
  name: string
  email: string
  idp_user_id: string
  created_at: string
}

export interface CreatedAccount {
  /** Opaque identifier. */
  id: string
  name: string
  email: string
  idp_user_id: string
  created_at: string
  /** An owner key of each environment, shown this once. */
  api_keys: Array<IssuedApiKey>
}

export interface NewAccount {
  name: string
  email: string
  /** The user at an external identity provider. */
  idp_user_id: string
}

export interface Agent {
  /** Opaque identifier. */
  id: string
  name: string
  description: string | null
  capabilities: Array<string>
  status: AgentStatus
  created_at: string
  revoked_at: string | null
}

export interface NewAgent {
  name: string
  description?: string | null
  capabilities?: Array<string>
}

export interface ApiKey {
  /** Opaque identifier. */
  id: string
  /** Opaque identifier. */
  account_id: string
  label: string | null
  role: Role
  environment: Environment
  agent_id: string | null
  /** The last four characters of the key. */
  hint: string
  created_at: string
  revoked_at: string | null
}

export interface IssuedApiKey {
  /** Opaque identifier. */
  id: string
  /** Opaque identifier. */
  account_id: string
  label: string | null
  role: Role
  environment: Environment
  agent_id: string | null
  /** The last four characters of the key. */
  hint: string
  created_at: string
  revoked_at: string | null
  /** The text of the key. It is shown this once. */
  key: string
}

export interface NewApiKey {
  label?: string | null
  role: Role
  environment: Environment
  agent_id?: string | null
  account_id?: string | null
}

export interface AuditEvent {
  /** Opaque identifier. */
  id: string
  type: AuditEventType
  /** The id of the key or the session that acted, or `system`. */
  actor: string
  /** Opaque identifier. */
  subject_id: string
  data: Record<string, unknown>
  created_at: string
}

export interface ListAuditEventsQuery {
  /** Most items in the answer. */
  limit?: number
  /** Where the page starts; taken from the `Link` header. */
  cursor?: string
  type?: AuditEventType
  subject_id?: string
}

export interface AgentSummary {
  /** Opaque identifier. */
  id: string
  name: string
  description: string | null
  capabilities: Array<string>
  status: AgentStatus
  created_at: string
  revoked_at: string | null
  spent_total: string
  held_total: string
  /** At most 10,000 are counted. */
  open_holds: number
  active_mandates: number
  remaining_budget: string
  /** Keys of the role `agent` that are bound to it and not revoked. */
  working_keys: number
}

export interface ListConsoleAgentsQuery {
  /** Most items in the answer. */
  limit?: number
  /** Where the page starts; taken from the `Link` header. */
  cursor?: string
}

export interface ListedApiKey {
  /** Opaque identifier. */
  id: string
  /** Opaque identifier. */
  account_id: string
  label: string | null
  role: Role
  environment: Environment
  agent_id: string | null
  /** The last four characters of the key. */
  hint: string
  created_at: string
  revoked_at: string | null
  /** To the minute or so; null when it was not used yet. */
  last_used_at: string | null
  agent_name: string | null
}

export interface ListConsoleApiKeysQuery {
  /** Most items in the answer. */
  limit?: number
  /** Where the page starts; taken from the `Link` header. */
  cursor?: string
}

export interface FeedEvent {
  transactions: Array<Transaction>
  /** More happened before these than the feed carries; the list of transactions has all. */
  has_gap: boolean
}

export interface StreamTransactionsQuery {
  environment?: Environment
  /** As the header, for who cannot set one. */
  last_event_id?: string
}

export interface ListedMandate {
  /** Opaque identifier. */
  id: string
  /** Opaque identifier. */
  agent_id: string
  purpose: string
  max_spend_total: string
  max_spend_per_transaction: string
  currency: 'USDC'
  allowed_sellers: Array<string>
  allowed_categories: Array<string>
  expires_at: string
  status: MandateStatus
  spent_total: string
  held_total: string
  remaining_budget: string
  created_at: string
  updated_at: string
  agent_name: string
  /** Whether its agent is revoked, so that nothing can be spent, whatever its `status`. */
  is_agent_revoked: boolean
  /** Whether a stop of all agents paused it. */
  is_stopped: boolean
}

export interface MandateDetail {
  /** Opaque identifier. */
  id: string
  /** Opaque identifier. */
  agent_id: string
  purpose: string
  max_spend_total: string
  max_spend_per_transaction: string
  currency: 'USDC'
  allowed_sellers: Array<string>
  allowed_categories: Array<string>
  expires_at: string
  status: MandateStatus
  spent_total: string
  held_total: string
  remaining_budget: string
  created_at: string
  updated_at: string
  agent_name: string
  /** Whether its agent is revoked, so that nothing can be spent, whatever its `status`. */
  is_agent_revoked: boolean
  /** Whether a stop of all agents paused it. */
  is_stopped: boolean
  paid_count: number
  denied_count: number
  open_holds: Array<ProofRecord>
}

export interface MandateSpend {
  mandate_id: string
  step: 'hour' | 'day'
  spent_before: string
  stretches: Array<Activity>
}

export interface GetMandateSpendQuery {
  /** Where the first stretch begins, at a quarter of an hour; 30 days ago by default. */
  starts_at?: string
  step?: 'hour' | 'day'
  stretches?: number
}

export interface ListConsoleMandatesQuery {
  /** Most items in the answer. */
  limit?: number
  /** Where the page starts; taken from the `Link` header. */
  cursor?: string
  agent_id?: string
  status?: ListedStatus
  /** Part of the purpose, in any case. */
  q?: string
}

export interface Activity {
  starts_at: string
  paid_count: number
  paid_total: string
  approved_count: number
  denied_count: number
}

export interface Checklist {
  agent: boolean
  mandate: boolean
  seller: boolean
  proof: boolean
  paid: boolean
}

export interface NearBudget {
  /** Opaque identifier. */
  mandate_id: string
  /** Opaque identifier. */
  agent_id: string
  agent_name: string
  purpose: string
  max_spend_total: string
  spent_total: string
  held_total: string
  remaining_budget: string
  spent_last_day: string
  /** Null when nothing was paid in the last 24 hours, or the mandate expires before. */
  exhausted_at: string | null
  expires_at: string
}

export interface Overview {
  at: string
  day_starts_at: string
  spent_today: string
  paid_today: number
  remaining: string
  active_mandates: number
  open_holds: {
    count: number
    amount: string
  }
  last_day_starts_at: string
  /** Denied evaluations and refused proofs: those of denial_reasons. */
  denied_last_day: number
  hours: Array<Activity>
  nearest_budgets: Array<NearBudget>
  denial_reasons: Array<{
    reason_code: DenialCode
    evaluations: number
    /** Refused proofs are counted a few seconds late, and a crash may lose the latest. */
    proofs: number
  }>
  stopped_mandates: number
  checklist: Checklist
}

export interface GetOverviewQuery {
  /** When today began for whoever looks, at a quarter of an hour; midnight UTC by default. */
  day_starts_at?: string
}

export interface Found {
  kind: 'agent' | 'mandate' | 'seller' | 'transaction'
  /** Opaque identifier. */
  id: string
  label: string
}

export interface SearchConsoleQuery {
  q?: string
}

export interface SellerSummary {
  /** Opaque identifier. */
  id: string
  name: string
  /** Lower-case ASCII host name. */
  domain: string
  price_config: Record<string, unknown>
  created_at: string
  paid_count: number
  revenue_total: string
  last_month_starts_at: string
  revenue_last_month: string
  failures_last_month: Array<{
    reason: VerificationFailure
    /** Counted a few seconds late, and a crash may lose the latest. */
    count: number
  }>
}

export interface ListConsoleSellersQuery {
  /** Most items in the answer. */
  limit?: number
  /** Where the page starts; taken from the `Link` header. */
  cursor?: string
}

export interface NewSession {
  api_key?: string | null
  set_up_token?: string | null
}

export interface Session {
  /** Opaque identifier. */
  id: string
  kind: SessionKind
  account: {
    /** Opaque identifier. */
    id: string
    name: string
    email: string
  }
  role: 'operator' | 'owner'
  key_id: string | null
  /** What the session may see; `X-Purser-Environment` chooses, the first when it is left out. */
  environments: Array<Environment>
  /** To be sent as `X-Purser-Console` with every request that changes something. */
  csrf_token: string
  created_at: string
  /** When the session ends if it is not used; each use moves it, up to `ends_at`. */
  expires_at: string
  /** When the session ends however it is used. */
  ends_at: string
}

export interface SignInOptions {
  version: string
  oidc_path: string | null
}

export interface Resumed {
  resumed_mandates: number
}

export interface Stopped {
  /** Opaque identifier. */
  stop_id: string
  paused_mandates: number
  voided_holds: number
}

export interface System {
  version: string
  interface_version: string
  node_version: string
  started_at: string
  uptime_seconds: number
  workers: number
  store: {
    kind: 'sqlite' | 'postgres'
    /** The file, or the server without its password. */
    place: string
    schema_version: number
  }
  queue: {
    /** Acts that wait for a transaction. */
    waiting: number
    /** One more than that is turned away. */
    most: number
  }
  commit: {
    /** Since the start. */
    count: number
    p50_ms: number | null
    p99_ms: number | null
  }
  disk: {
    /** Of the file and its log, or of the database on its server. */
    ledger_bytes: number
    free_bytes: number | null
    total_bytes: number | null
  }
  memory_bytes: number
  open_feeds: number
}

export interface PolicyCheck {
  check: number
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
  state: 'passed' | 'failed' | 'not_reached' | 'not_asked' | 'unknown'
  /** The values that were compared, such as `4.20 + 6.00 > 10.00`. */
  values: string
}

export interface TransactionDetail {
  transaction: Transaction
  agent_name: string | null
  mandate_purpose: string | null
  checked_at: string | null
  checks: Array<PolicyCheck>
  proof: ProofRecord | null
}

export interface ExportTransactionsQuery {
  environment?: Environment
  agent_id?: string
  mandate_id?: string
  status?: TransactionStatus
  merchant_domain?: string
  reason_code?:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
  /** At or after. */
  created_from?: string
  /** Before. */
  created_before?: string
}

export interface ListConsoleTransactionsQuery {
  /** Most items in the answer. */
  limit?: number
  /** Where the page starts; taken from the `Link` header. */
  cursor?: string
  agent_id?: string
  mandate_id?: string
  status?: TransactionStatus
  merchant_domain?: string
  reason_code?:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
  /** At or after. */
  created_from?: string
  /** Before. */
  created_before?: string
}

export interface ErrorBody {
  detail: string
}

export interface ValidationErrorBody {
  detail: Array<ValidationItem>
}

export interface ValidationItem {
  type: string
  loc: Array<string | number>
  msg: string
  input?: unknown
  ctx?: Record<string, unknown>
}

export interface Mandate {
  /** Opaque identifier. */
  id: string
  /** Opaque identifier. */
  agent_id: string
  purpose: string
  max_spend_total: string
  max_spend_per_transaction: string
  currency: 'USDC'
  allowed_sellers: Array<string>
  allowed_categories: Array<string>
  expires_at: string
  status: MandateStatus
  spent_total: string
  held_total: string
  remaining_budget: string
  created_at: string
  updated_at: string
}

export interface NewMandate {
  /** The agent that the mandate is for. */
  agent_id: string
  purpose: string
  max_spend_total: string
  max_spend_per_transaction: string
  currency?: 'USDC'
  /** Seller domains; `*` allows every seller, an empty list none. */
  allowed_sellers?: Array<string>
  /** An empty list, or `*`, allows every category. */
  allowed_categories?: Array<string>
  expires_at: string
}

export interface PageQuery {
  /** Most items in the answer. */
  limit?: number
  /** Where the page starts; taken from the `Link` header. */
  cursor?: string
}

export interface NotVerified {
  verified: false
  reason: VerificationFailure
}

export interface Proof {
  scheme: string
  network: string
  agentId: string
  mandateId: string
  amount: string
  currency: string
  resource: string
  nonce: string
  timestamp: string
  signature: string
}

export interface ProofDenial {
  decision: 'denied'
  reason_code: DenialCode
  reason_detail: string
  /** Opaque identifier. */
  agent_id: string
  /** Opaque identifier. */
  mandate_id: string
}

export interface ProofRecord {
  nonce: string
  status: ProofStatus
  /** Opaque identifier. */
  agent_id: string
  /** Opaque identifier. */
  mandate_id: string
  amount: string
  currency: 'USDC'
  resource: string
  issued_at: string
  expires_at: string
  transaction_id: string | null
}

export interface ProofRequest {
  agent_id: string
  mandate_id: string
  amount: string
  currency?: 'USDC'
  resource_url: string
}

export interface Verified {
  verified: true
  /** Opaque identifier. */
  transaction_id: string
}

export interface VerifyRequest {
  proof: Proof
  merchant_domain: string
  expected_amount: string
  expected_currency?: string
}

export interface Approval {
  decision: 'approved'
  reason_code: 'within_policy'
  reason_detail: null
  /** Opaque identifier. */
  agent_id: string
  /** Opaque identifier. */
  mandate_id: string
  /** Opaque identifier. */
  transaction_id: string
}

export interface Denial {
  decision: 'denied'
  reason_code: DenialCode
  /** What was asked for, the limit, and what would help. */
  reason_detail: string
  /** Opaque identifier. */
  agent_id: string
  /** Opaque identifier. */
  mandate_id: string
  /** Opaque identifier. */
  transaction_id: string
}

export interface ProposedPayment {
  agent_id: string
  mandate_id: string
  merchant_domain: string
  amount: string
  currency?: 'USDC'
  resource_url: string
  category?: string | null
}

export interface NewSeller {
  name: string
  domain: string
  price_config: Record<string, unknown>
}

export interface Seller {
  /** Opaque identifier. */
  id: string
  name: string
  /** Lower-case ASCII host name. */
  domain: string
  price_config: Record<string, unknown>
  created_at: string
}

export interface Transaction {
  /** Opaque identifier. */
  id: string
  status: TransactionStatus
  /** Opaque identifier. */
  agent_id: string
  /** Opaque identifier. */
  mandate_id: string
  amount: string
  currency: 'USDC'
  resource_url: string
  merchant_domain: string
  seller_id: string | null
  category: string | null
  reason_code:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
    | null
  reason_detail: string | null
  created_at: string
}

export interface ListTransactionsQuery {
  /** Most items in the answer. */
  limit?: number
  /** Where the page starts; taken from the `Link` header. */
  cursor?: string
  agent_id?: string
  mandate_id?: string
  status?: TransactionStatus
  merchant_domain?: string
}

export interface AgentReport {
  verified: boolean
  authorized: boolean
  payment_ready: boolean
  agent: {
    /** Opaque identifier. */
    id: string
    name: string
    capabilities: Array<string>
    status: 'active' | 'revoked' | 'unknown'
  }
  mandate: {
    /** Opaque identifier. */
    id: string
    purpose: string
    currency: string
    remaining_budget: string
    expires_at: string
  }
  risk: {
    score: number
    flags: Array<RiskFlag>
  }
  recommendation: 'accept' | 'deny'
  reason_code:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
}
