// Generated from packages/wire by `npm run client-types`; a test compares them.

export type AccountStatus = 'active' | 'disabled'

export type AgentStatus = 'active' | 'revoked'

export type ApprovalKind = 'payment' | 'increase'

export type ApprovalStatus = 'pending' | 'approved' | 'denied' | 'expired' | 'consumed'

export type ApprovalReason = 'above' | 'first_purchase_at_seller' | 'limit' | 'increase'

export type ApprovalVerdict = 'approved' | 'denied'

export type AuditEventType =
  | 'payment.verified'
  | 'payment.authorized'
  | 'payment.refunded'
  | 'authorization.voided'
  | 'account.created'
  | 'account.disabled'
  | 'account.enabled'
  | 'api_key.created'
  | 'api_key.revoked'
  | 'agent.created'
  | 'agent.revoked'
  | 'mandate.created'
  | 'mandate.amended'
  | 'approval.requested'
  | 'approval.approved'
  | 'approval.denied'
  | 'approval.consumed'
  | 'mandate.paused'
  | 'mandate.resumed'
  | 'mandate.revoked'
  | 'limit.exceeded'
  | 'budget.created'
  | 'budget.changed'
  | 'budget.frozen'
  | 'budget.unfrozen'
  | 'agent.budget_changed'
  | 'seller.created'
  | 'seller.released'
  | 'seller.verified'
  | 'proof.voided'
  | 'proofs.voided'
  | 'agents.stopped'
  | 'agents.resumed'
  | 'test_clock.advanced'
  | 'session.started'
  | 'session.ended'

export type FeedEnd = 'signed_out' | 'service_stopping'

export type ListedStatus = 'active' | 'paused' | 'revoked' | 'expired' | 'agent_revoked'

export type SessionKind = 'key' | 'oidc' | 'set_up'

export type Currency = 'USDC'

export type Environment = 'sandbox' | 'production'

export type MandateStatus = 'active' | 'paused' | 'revoked'

export type CategoryCheck = 'advisory' | 'enforced'

export type MandateMove = 'pause' | 'resume' | 'revoke'

export type NotJudgedReason = 'shared_budget' | 'only_counted' | 'not_reproduced'

export type VerificationFailure = 'proof_expired' | 'amount_mismatch' | 'invalid_signature' | 'nonce_reused'

export type ProofStatus = 'open' | 'authorized' | 'captured' | 'expired' | 'voided'

export type DenialCode =
  | 'agent_revoked'
  | 'mandate_expired'
  | 'merchant_not_allowed'
  | 'resource_not_allowed'
  | 'amount_exceeds_per_transaction_limit'
  | 'total_budget_exceeded'
  | 'velocity_limit_exceeded'
  | 'shared_budget_exceeded'
  | 'budget_frozen'
  | 'approval_required'

export type Role = 'operator' | 'owner' | 'approver' | 'agent' | 'merchant'

export type TransactionStatus = 'pending' | 'approved' | 'denied' | 'paid' | 'refunded'

export type RiskFlag =
  | 'budget_nearly_spent'
  | 'expiry_near'
  | 'first_purchase_at_seller'
  | 'recent_denials'
  | 'unusual_rate'

/** The code in `detail` of an error response. */
export type ErrorCode =
  | 'Not authenticated'
  | 'invalid_api_key'
  | 'insufficient_scope'
  | 'seller_not_yours'
  | 'merchant_not_allowed'
  | 'merchant_not_payee'
  | 'resource_not_allowed'
  | 'category_mismatch'
  | 'production_payments_not_supported'
  | 'sandbox_only'
  | 'test_clock_too_far'
  | 'There was an error parsing the body'
  | 'not_found'
  | 'budget_not_found'
  | 'Not Found'
  | 'Method Not Allowed'
  | 'request_timeout'
  | 'account_exists'
  | 'budget_too_deep'
  | 'own_account'
  | 'seller_exists'
  | 'last_owner_key'
  | 'mandate_revoked'
  | 'budget_below_committed'
  | 'history_too_long'
  | 'if_match_required'
  | 'version_mismatch'
  | 'widening_needs_owner'
  | 'idempotency_key_required'
  | 'not_refundable'
  | 'refund_exceeds_payment'
  | 'too_many_refunds'
  | 'order_already_paid'
  | 'order_mismatch'
  | 'already_captured'
  | 'authorization_expired'
  | 'authorization_voided'
  | 'amount_exceeds_authorization'
  | 'own_request'
  | 'approval_expired'
  | 'approval_decided'
  | 'nothing_to_increase'
  | 'too_many_approvals'
  | 'another_stop'
  | 'proof_captured'
  | 'proof_authorized'
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

export interface JournalLine {
  /** When it was paid or refunded. */
  at: string
  /** The payment or the refund. */
  transaction_id: string
  /** What happened. */
  kind: 'payment' | 'refund'
  /** `expense` is what agents buy, `revenue` what sellers of the account earn, `wallet` the money. */
  account: 'expense' | 'wallet' | 'revenue'
  /** Debit in USDC, as decimal text; null for a credit. */
  debit: string | null
  /** Credit in USDC, as decimal text; null for a debit. */
  credit: string | null
  /** Currency of the amounts; always `USDC`. */
  currency: 'USDC'
  /** Domain of the seller. */
  merchant_domain: string
  /** Seller registered under the domain; null if there is none. */
  seller_id: string | null
  /** Agent that paid. */
  agent_id: string
  /** Mandate that it paid from. */
  mandate_id: string
  /** Order of the payment; null for none. */
  order_id: string | null
  /** The payment that was refunded; null unless this is a refund. */
  refund_of: string | null
  /** URL of the purchased resource. */
  resource_url: string
}

export interface JournalQuery {
  /** Only transactions at or after this time, with a time zone. */
  created_from?: string
  /** Only transactions before this time, with a time zone. */
  created_to?: string
}

export interface Settlement {
  /** Id of the seller. */
  seller_id: string
  /** Domain under which it collects. */
  domain: string
  /** First day, in UTC. */
  from: string
  /** Last day, in UTC. */
  to: string
  /** The days on which the seller collected or refunded anything, oldest first. */
  days: Array<SettlementDay>
  /** The sums of all days. */
  total: {
    /** Number of payments collected. */
    payments: number
    /** Sum of those payments in USDC. */
    gross: string
    /** Number of refunds sent, of payments of any day. */
    refunds: number
    /** Sum of those refunds in USDC. */
    refunded: string
    /** `gross` minus `refunded` in USDC; negative if more was refunded than collected. */
    net: string
  }
}

export interface SettlementDay {
  /** Day in UTC. */
  day: string
  /** Number of payments collected. */
  payments: number
  /** Sum of those payments in USDC. */
  gross: string
  /** Number of refunds sent, of payments of any day. */
  refunds: number
  /** Sum of those refunds in USDC. */
  refunded: string
  /** `gross` minus `refunded` in USDC; negative if more was refunded than collected. */
  net: string
}

export interface GetSettlementsQuery {
  /** First day, in UTC; 29 days before `to` by default. */
  from?: string
  /** Last day, in UTC; today by default. */
  to?: string
}

export interface Account {
  /** Id of the account. */
  id: string
  /** Name of the person or organization that owns the account. */
  name: string
  /** E-mail address of the owner, as provided. */
  email: string
  /** Id of the user at an external identity provider. */
  idp_user_id: string
  /** Whether its keys and sessions work. They do not while it is `disabled`. */
  status: AccountStatus
  /** When the account was created. */
  created_at: string
  /** When the account was disabled; null while it is active. */
  disabled_at: string | null
}

export interface CreatedAccount {
  /** Id of the account. */
  id: string
  /** Name of the person or organization that owns the account. */
  name: string
  /** E-mail address of the owner, as provided. */
  email: string
  /** Id of the user at an external identity provider. */
  idp_user_id: string
  /** Whether its keys and sessions work. They do not while it is `disabled`. */
  status: AccountStatus
  /** When the account was created. */
  created_at: string
  /** When the account was disabled; null while it is active. */
  disabled_at: string | null
  /** An owner key for each environment, shown only once. */
  api_keys: Array<IssuedApiKey>
}

export interface NewAccount {
  /** Name of the person or organization that owns the account. */
  name: string
  /** E-mail address of the owner. Nothing is sent to it. */
  email: string
  /** Id of the user at an external identity provider; unique among all accounts. */
  idp_user_id: string
}

export interface Agent {
  /** Id of the agent. */
  id: string
  /** Display name of the agent. */
  name: string
  /** What the agent does, as free text; null if not provided. */
  description: string | null
  /** What the agent says it can do; informational, not checked. */
  capabilities: Array<string>
  /** Shared budget that the payments of all its mandates count in; null for none. */
  budget_id: string | null
  /** Whether the agent can spend. A `revoked` agent never can again. */
  status: AgentStatus
  /** When the agent was created. */
  created_at: string
  /** When the agent was revoked; null while it is active. */
  revoked_at: string | null
}

export interface AgentChanges {
  /** Shared budget that the payments of all its mandates count in from now on, with all budgets above it; null for none. The open proofs of the agent end if they are older than the last freeze of such a budget, or than the last change with `end_holds`. */
  budget_id: string | null
  /** Shared budget that the change is based on, null for none: if the agent is in another one meanwhile, nothing changes. By default, it is not compared. */
  expected_budget_id?: string | null
}

export interface NewAgent {
  /** Display name of the agent; need not be unique. */
  name: string
  /** What the agent does, as free text; null or omitted for none. */
  description?: string | null
  /** What the agent says it can do; informational, not checked. */
  capabilities?: Array<string>
}

export interface ApiKey {
  /** Id of the key, not its secret text. */
  id: string
  /** Account that the key belongs to. */
  account_id: string
  /** Label of the key; null if none was provided. */
  label: string | null
  /** What the key may do. */
  role: Role
  /** Environment that the key works in. */
  environment: Environment
  /** Agent that a key with the role `agent` is bound to; null for other roles. */
  agent_id: string | null
  /** The last four characters of the key. */
  hint: string
  /** When the key was issued. */
  created_at: string
  /** When the key was revoked; null while it works. */
  revoked_at: string | null
}

export interface IssuedApiKey {
  /** Id of the key, not its secret text. */
  id: string
  /** Account that the key belongs to. */
  account_id: string
  /** Label of the key; null if none was provided. */
  label: string | null
  /** What the key may do. */
  role: Role
  /** Environment that the key works in. */
  environment: Environment
  /** Agent that a key with the role `agent` is bound to; null for other roles. */
  agent_id: string | null
  /** The last four characters of the key. */
  hint: string
  /** When the key was issued. */
  created_at: string
  /** When the key was revoked; null while it works. */
  revoked_at: string | null
  /** The secret text of the key. It is shown only once. */
  key: string
}

export interface NewApiKey {
  /** Label of the key; null or omitted for none. */
  label?: string | null
  /** What the key may do. Only operators can issue keys with the role `operator`. */
  role: Role
  /** Environment that the key will work in. */
  environment: Environment
  /** Agent that the key is bound to: required for the role `agent`, null or omitted for others. */
  agent_id?: string | null
  /** Account of the key; null or omitted for the caller's own. Only operators may specify another one. */
  account_id?: string | null
}

export interface ListApiKeysQuery {
  /** Max items in the response. A page of large records may be shorter. */
  limit?: number
  /** Where the page starts, from the `Link` header of the previous page; by default the first page. */
  cursor?: string
  /** Account to use; by default the key's own. Only operators may specify another one. */
  account_id?: string
}

export interface RevokeApiKeyQuery {
  /** Account to use; by default the key's own. Only operators may specify another one. */
  account_id?: string
}

export interface ApprovalNote {
  /** What to keep with the decision; null or omitted for nothing. */
  note?: string | null
}

export interface ApprovalReference {
  /** Id of the approval: request the proof again with it in `approval_id` once it is approved. */
  id: string
  /** Whether it still waits for a decision, and how it was decided. */
  status: ApprovalStatus
  /** Until when it can be decided; once approved, until when it can be used. */
  expires_at: string
  /** Page of the console on which a person decides. */
  url: string
}

export interface ApprovalRequest {
  /** Id of the approval. */
  id: string
  /** `payment`: a proof that a person must approve. `increase`: wider terms of a mandate. */
  kind: ApprovalKind
  /** `pending` until it is decided, `consumed` once it was used, `expired` if neither was done in time. */
  status: ApprovalStatus
  /** Agent that asks. */
  agent_id: string
  /** Mandate that it pays from. */
  mandate_id: string
  /** Amount of the payment in USDC, as decimal text: a proof of up to this amount is approved. Null for an increase. */
  amount: string | null
  /** URL of the purchased resource, the only one that is approved; null for an increase. */
  resource_url: string | null
  /** Why a person is asked. */
  reason: {
    /** `above`: the amount is above the threshold for approval. `first_purchase_at_seller`: nothing was bought there before. `limit`: a limit over time is exceeded. `increase`: the agent asks for wider terms. */
    code: ApprovalReason
    /** The limit that is exceeded; null for other reasons. */
    limit_id: string | null
    /** Why the agent asks for an increase, in its own words; null for a payment. */
    message: string | null
  }
  /** The terms that take effect once an increase is approved; null for a payment. */
  change: IncreasedTerms | null
  /** Number of the version of the mandate when it was requested. */
  mandate_version: number
  /** Key or session that made the request. */
  requested_by: string
  /** When it was requested. */
  requested_at: string
  /** Until when it can be decided; once approved, until when it can be used. */
  expires_at: string
  /** Number of different people who must approve it. */
  required: number
  /** What was decided so far, oldest first. */
  decisions: Array<{
    /** Id of the key or session that decided. */
    actor: string
    /** What was decided. */
    decision: ApprovalVerdict
    /** What was noted with the decision; null if nothing was. */
    note: string | null
    /** When it was decided. */
    at: string
  }>
  /** UUID of the proof that has used the approval; null if none has. */
  nonce: string | null
  /** Page of the console on which a person decides. */
  url: string
}

export interface IncreaseRequest {
  /** Requested total budget in USDC, as decimal text. */
  max_spend_total?: string
  /** Requested max amount of one payment in USDC, as decimal text. */
  max_spend_per_transaction?: string
  /** Requested expiry of the mandate, as a time with a time zone (RFC 3339). */
  expires_at?: string
  /** Requested limits over time, all of them: one that is left out is removed. At least one must allow more than now, unless another term does. */
  limits?: Array<NewLimit>
  /** Why more is needed, as free text for the person who decides. */
  reason: string
}

export interface IncreasedTerms {
  /** Requested total budget in USDC, as decimal text. */
  max_spend_total?: string
  /** Requested max amount of one payment in USDC, as decimal text. */
  max_spend_per_transaction?: string
  /** Requested expiry of the mandate, as a time with a time zone (RFC 3339). */
  expires_at?: string
  /** Requested limits over time, all of them. Those that the mandate has keep their ids. */
  limits?: Array<Limit>
}

export interface ListApprovalsQuery {
  /** Max items in the response. A page of large records may be shorter. */
  limit?: number
  /** Where the page starts, from the `Link` header of the previous page; by default the first page. */
  cursor?: string
  /** Only approvals with this status. */
  status?: ApprovalStatus
  /** Only approvals under this mandate. */
  mandate_id?: string
}

export interface AuditEvent {
  /** Id of the event. */
  id: string
  /** What happened. */
  type: AuditEventType
  /** Id of the key or session that made the change, or `system`. */
  actor: string
  /** Id of the changed record; for a proof its nonce, for a payment its transaction. */
  subject_id: string
  /** Details of the change; the fields depend on `type`, and there may be none. */
  data: Record<string, unknown>
  /** When it happened. */
  created_at: string
}

export interface ListAuditEventsQuery {
  /** Max items in the response. A page of large records may be shorter. */
  limit?: number
  /** Where the page starts, from the `Link` header of the previous page; by default the first page. */
  cursor?: string
  /** Only events of this type. */
  type?: AuditEventType
  /** Only events about this record. */
  subject_id?: string
}

export interface Authorization {
  /** UUID of the proof. Use it to capture or void the payment. */
  nonce: string
  /** Authorized amount in USDC, as decimal text: the most that can be captured. */
  amount: string
  /** When the authorization ends, unless it is captured or voided before. */
  capture_deadline: string
  /** Whole seconds from this answer until `capture_deadline`, by the clock of the service; 0 once it has passed. */
  capture_seconds_left: number
  /** State of the payment; only an `authorized` one can be captured. */
  status: ProofStatus
}

export interface AuthorizeRequest {
  /** The complete proof, as issued. */
  proof: Proof
  /** Domain under which the seller collects. */
  merchant_domain: string
  /** Price in USDC, as decimal text; must equal the proof's `amount`, compared as text. */
  expected_amount: string
  /** Currency of the price; must equal the proof's `currency`, compared as text. */
  expected_currency?: string
  /** Category of the sale; if it is given, it must equal the proof's. Null or omitted to accept any. */
  category?: string | null
  /** Time in seconds until the capture deadline, 600 by default; at most what the mandate allows. */
  capture_seconds?: number
}

export interface Authorized {
  /** Always `true`: the amount is reserved until the deadline. */
  authorized: true
  /** The authorization. Nothing has been charged yet. */
  authorization: Authorization
}

export interface CaptureRequest {
  /** Amount to charge in USDC, as decimal text: at most the authorized amount, which is the default. The rest is released at once. */
  amount?: string
}

export interface Captured {
  /** Always `true`: the charge is recorded. */
  verified: true
  /** Transaction that records the charge. */
  transaction_id: string
  /** Charged amount in USDC, as decimal text. */
  amount: string
}

export interface NotAuthorized {
  /** Always `false`: nothing was authorized or charged. */
  authorized: false
  /** The first step that failed. */
  reason: VerificationFailure
}

export interface AgentSummary {
  /** Id of the agent. */
  id: string
  /** Display name of the agent. */
  name: string
  /** What the agent does, as free text; null if not provided. */
  description: string | null
  /** What the agent says it can do; informational, not checked. */
  capabilities: Array<string>
  /** Shared budget that the payments of all its mandates count in; null for none. */
  budget_id: string | null
  /** Whether the agent can spend. A `revoked` agent never can again. */
  status: AgentStatus
  /** When the agent was created. */
  created_at: string
  /** When the agent was revoked; null while it is active. */
  revoked_at: string | null
  /** Sum of its verified payments in USDC, under all mandates. */
  spent_total: string
  /** Sum in USDC held by its open proofs; revoking the agent releases it. */
  held_total: string
  /** Number of its open proofs; 10,000 means 10,000 or more. */
  open_holds: number
  /** Sum in USDC of its authorized payments, which merchants may capture until their deadlines, even if the agent is revoked. */
  authorized_total: string
  /** Number of its authorized payments. */
  authorized_payments: number
  /** Number of its active, unexpired mandates. */
  active_mandates: number
  /** Remaining budget of its active mandates in USDC. */
  remaining_budget: string
  /** Number of unrevoked API keys bound to it. Those of a revoked agent can read, but not pay. */
  working_keys: number
}

export interface ListConsoleAgentsQuery {
  /** Max items in the response. A page of large records may be shorter. */
  limit?: number
  /** Where the page starts, from the `Link` header of the previous page; by default the first page. */
  cursor?: string
}

export interface ListedApiKey {
  /** Id of the key, not its secret text. */
  id: string
  /** Account that the key belongs to. */
  account_id: string
  /** Label of the key; null if none was provided. */
  label: string | null
  /** What the key may do. */
  role: Role
  /** Environment that the key works in. */
  environment: Environment
  /** Agent that a key with the role `agent` is bound to; null for other roles. */
  agent_id: string | null
  /** The last four characters of the key. */
  hint: string
  /** When the key was issued. */
  created_at: string
  /** When the key was revoked; null while it works. */
  revoked_at: string | null
  /** When the key was last used, accurate to about a minute; null if never. */
  last_used_at: string | null
  /** Name of the agent that the key is bound to; null if none. */
  agent_name: string | null
}

export interface ListConsoleApiKeysQuery {
  /** Max items in the response. A page of large records may be shorter. */
  limit?: number
  /** Where the page starts, from the `Link` header of the previous page; by default the first page. */
  cursor?: string
}

export interface FeedEvent {
  /** New transactions, oldest first. */
  transactions: Array<NamedTransaction>
  /** Whether older transactions were skipped; the list of transactions has all of them. */
  has_gap: boolean
}

export interface StreamTransactionsQuery {
  /** Same as the header `X-Purser-Environment`, for browsers, which cannot set headers here. */
  environment?: Environment
  /** Same as the header `Last-Event-ID`, for clients that cannot set it. */
  last_event_id?: string
}

export interface ListedMandate {
  /** Id of the mandate. */
  id: string
  /** Agent of the mandate. */
  agent_id: string
  /** What the budget is for, as free text. */
  purpose: string
  /** Total budget in USDC, as provided. */
  max_spend_total: string
  /** Max amount of one payment in USDC, as provided. */
  max_spend_per_transaction: string
  /** Allowed seller domains; `*` allows every seller, an empty list none. */
  allowed_sellers: Array<string>
  /** Allowed categories of a payment; an empty list or `*` allows every category. */
  allowed_categories: Array<string>
  /** URLs that may be bought, as provided; an empty list allows every URL. */
  allowed_resources: Array<string>
  /** `advisory`: evaluate and verify-agent check the category. `enforced`: proofs need an allowed category, too. */
  category_check: CategoryCheck
  /** Texts that were provided with the mandate, by name; empty if there are none. */
  metadata: Record<string, string>
  /** Limits over time; empty if there are none. */
  limits: Array<Limit>
  /** Shared budget of the mandate; null for none. */
  budget_id: string | null
  /** When the mandate expires, as provided: a time with a time zone (RFC 3339). Expiry does not change its `status`. */
  expires_at: string
  /** When a person must approve a payment; null if no payment needs approval, except for limits that ask for it. */
  approval: {
    /** A payment above this amount in USDC needs approval; null if no amount does. */
    above: string | null
    /** Whether the first purchase from each seller needs approval. */
    first_purchase_at_seller: boolean
    /** Number of different people who must approve. */
    required: number
  } | null
  /** Currency of the amounts; always `USDC`. */
  currency: 'USDC'
  /** Only an `active` mandate allows payments, until it expires. */
  status: MandateStatus
  /** Number of the version of its terms: 1 when it is created, one more with each amendment. Send it in `If-Match` to amend the mandate. */
  version: number
  /** Sum of all verified payments, minus refunds, in USDC, as decimal text. */
  spent_total: string
  /** Sum in USDC held by open proofs: charged when a proof is verified, released when it ends. */
  held_total: string
  /** Sum in USDC of authorized payments: charged when their merchants capture them, released when they end. A payment that is past its deadline can no longer be captured, and counts here until the service releases it, usually within a second. */
  authorized_total: string
  /** `max_spend_total` minus `spent_total` in USDC; held and authorized amounts are not deducted. */
  remaining_budget: string
  /** Max time in seconds between the authorization of a payment and its capture. */
  max_capture_seconds: number
  /** Usage of each limit: those of the mandate, then those of its shared budgets, nearest first. */
  usage?: Array<LimitUsage>
  /** When the mandate was created. */
  created_at: string
  /** When its status or its terms last changed; initially when it was created. */
  updated_at: string
  /** Name of its agent. */
  agent_name: string
  /** Whether its agent is revoked, so that nothing can be spent regardless of `status`. */
  is_agent_revoked: boolean
  /** Whether it was paused by stopping all agents. */
  is_stopped: boolean
}

export interface MandateDetail {
  /** Id of the mandate. */
  id: string
  /** Agent of the mandate. */
  agent_id: string
  /** What the budget is for, as free text. */
  purpose: string
  /** Total budget in USDC, as provided. */
  max_spend_total: string
  /** Max amount of one payment in USDC, as provided. */
  max_spend_per_transaction: string
  /** Allowed seller domains; `*` allows every seller, an empty list none. */
  allowed_sellers: Array<string>
  /** Allowed categories of a payment; an empty list or `*` allows every category. */
  allowed_categories: Array<string>
  /** URLs that may be bought, as provided; an empty list allows every URL. */
  allowed_resources: Array<string>
  /** `advisory`: evaluate and verify-agent check the category. `enforced`: proofs need an allowed category, too. */
  category_check: CategoryCheck
  /** Texts that were provided with the mandate, by name; empty if there are none. */
  metadata: Record<string, string>
  /** Limits over time; empty if there are none. */
  limits: Array<Limit>
  /** Shared budget of the mandate; null for none. */
  budget_id: string | null
  /** When the mandate expires, as provided: a time with a time zone (RFC 3339). Expiry does not change its `status`. */
  expires_at: string
  /** When a person must approve a payment; null if no payment needs approval, except for limits that ask for it. */
  approval: {
    /** A payment above this amount in USDC needs approval; null if no amount does. */
    above: string | null
    /** Whether the first purchase from each seller needs approval. */
    first_purchase_at_seller: boolean
    /** Number of different people who must approve. */
    required: number
  } | null
  /** Currency of the amounts; always `USDC`. */
  currency: 'USDC'
  /** Only an `active` mandate allows payments, until it expires. */
  status: MandateStatus
  /** Number of the version of its terms: 1 when it is created, one more with each amendment. Send it in `If-Match` to amend the mandate. */
  version: number
  /** Sum of all verified payments, minus refunds, in USDC, as decimal text. */
  spent_total: string
  /** Sum in USDC held by open proofs: charged when a proof is verified, released when it ends. */
  held_total: string
  /** Sum in USDC of authorized payments: charged when their merchants capture them, released when they end. A payment that is past its deadline can no longer be captured, and counts here until the service releases it, usually within a second. */
  authorized_total: string
  /** `max_spend_total` minus `spent_total` in USDC; held and authorized amounts are not deducted. */
  remaining_budget: string
  /** Max time in seconds between the authorization of a payment and its capture. */
  max_capture_seconds: number
  /** Usage of each limit: those of the mandate, then those of its shared budgets, nearest first. */
  usage: Array<LimitUsage>
  /** When the mandate was created. */
  created_at: string
  /** When its status or its terms last changed; initially when it was created. */
  updated_at: string
  /** Name of its agent. */
  agent_name: string
  /** Whether its agent is revoked, so that nothing can be spent regardless of `status`. */
  is_agent_revoked: boolean
  /** Whether it was paused by stopping all agents. */
  is_stopped: boolean
  /** The shared budgets that its payments count in, nearest first. */
  budgets: Array<Budget>
  /** Number of verified payments. */
  paid_count: number
  /** Number of denied evaluations. */
  denied_count: number
  /** Open proofs, soonest expiry first, at most 100; `held_total` includes all. One that a frozen budget has ended is `voided`: it holds its amount until the mandate requests a proof, or until it would have expired. */
  open_holds: Array<ProofRecord>
}

export interface MandateSpend {
  /** Id of the mandate. */
  mandate_id: string
  /** Width of a bucket. */
  step: 'hour' | 'day'
  /** Sum in USDC of payments before the first bucket. */
  spent_before: string
  /** The buckets, oldest first, including empty ones. */
  buckets: Array<Activity>
}

export interface GetMandateSpendQuery {
  /** Start of the first bucket, as a time with a time zone, rounded down to a quarter of an hour; at the latest now. By default, the last bucket is the current one. */
  starts_at?: string
  /** Width of a bucket; `day` by default. */
  step?: 'hour' | 'day'
  /** With `day`: buckets are the days of this time zone, given as an IANA name; the first is the day of `starts_at`. By default, each has 24 hours. */
  time_zone?: string
  /** Number of buckets. */
  buckets?: number
}

export interface ListConsoleMandatesQuery {
  /** Max items in the response. A page of large records may be shorter. */
  limit?: number
  /** Where the page starts, from the `Link` header of the previous page; by default the first page. */
  cursor?: string
  /** Only mandates of this agent. */
  agent_id?: string
  /** Only mandates below this shared budget, at any level; not those that are only below it through their agents. */
  budget_id?: string
  /** Only mandates in this state. */
  status?: ListedStatus
  /** Only mandates with this text in their purpose, ignoring case. */
  q?: string
}

export interface Activity {
  /** Start of the bucket. */
  starts_at: string
  /** Number of verified payments. */
  paid_count: number
  /** Sum of those payments in USDC; refunds are not deducted. */
  paid_total: string
  /** Number of refunds, of payments in any bucket. */
  refunded_count: number
  /** Sum of those refunds in USDC. */
  refunded_total: string
  /** Number of approved evaluations. */
  approved_count: number
  /** Number of denied evaluations and refused proofs. */
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
  /** Agent of the mandate. */
  agent_id: string
  /** Name of that agent. */
  agent_name: string
  /** What the budget is for, as free text. */
  purpose: string
  /** Total budget in USDC, as provided. */
  max_spend_total: string
  /** Sum of its verified payments in USDC. */
  spent_total: string
  /** Sum in USDC held by its open proofs. */
  held_total: string
  /** Sum in USDC of its authorized payments. */
  authorized_total: string
  /** `max_spend_total` minus `spent_total` in USDC. */
  remaining_budget: string
  /** Payments minus refunds in USDC since `last_day_starts_at`. */
  spent_last_day: string
  /** When the budget runs out at the rate of the last 24 hours; null if nothing was spent in them, or if the mandate expires before. */
  exhausted_at: string | null
  /** When the mandate expires, as provided. */
  expires_at: string
}

export interface Overview {
  /** The time of the figures. */
  at: string
  /** When today began: midnight in `time_zone`. */
  day_starts_at: string
  /** Payments minus refunds in USDC since `day_starts_at`. */
  spent_today: string
  /** Number of payments since `day_starts_at`. */
  paid_today: number
  /** Total budgets minus the amounts spent, in USDC, of active, unexpired mandates of agents that are not revoked. */
  remaining: string
  /** Number of those mandates. */
  active_mandates: number
  /** Proofs that can still be charged. */
  open_holds: {
    /** Number of open proofs; 10,000 means 10,000 or more. */
    count: number
    /** Sum in USDC held by them. */
    amount: string
  }
  /** Payments that their merchants may capture until their deadlines. */
  authorized: {
    /** Number of authorized payments. */
    count: number
    /** Their sum in USDC. */
    amount: string
  }
  /** Start of the last 24 hours, at a quarter of an hour. */
  last_day_starts_at: string
  /** Number of denied evaluations and refused proofs in the last 24 hours. Of the proofs refused under one mandate, the first ten of each minute are transactions and are counted in `denial_reasons`. */
  denied_last_day: number
  /** 24 buckets of one hour, oldest first; the last one is incomplete. */
  hours: Array<Activity>
  /** Active mandates, closest to their limit first. */
  nearest_budgets: Array<NearBudget>
  /** Denials of the last 24 hours by reason, most frequent first. */
  denial_reasons: Array<{
    /** The check that failed. */
    reason_code: DenialCode
    /** Number of transactions denied for it. */
    denied_count: number
  }>
  /** Number of mandates paused by a stop and still paused. */
  stopped_mandates: number
  /** Number of frozen shared budgets, below which no new payment is made. */
  frozen_budgets: number
  /** Limits with the action `deny`, counted together for all sellers, that admit no payment now; of the 1,000 mandates and 1,000 shared budgets that changed last. */
  full_limits: {
    /** Number of active mandates with such a limit of their own. */
    mandates: number
    /** Number of shared budgets with such a limit that are not frozen. */
    budgets: number
    /** The first five of them. */
    named: Array<{
      /** Whether it is a mandate or a shared budget. */
      scope: 'mandate' | 'budget'
      /** Id of the mandate or the shared budget. */
      id: string
      /** Purpose of the mandate, or name of the shared budget. */
      name: string
    }>
  }
  /** The steps to a first purchase, each done or not. */
  checklist: Checklist
}

export interface GetOverviewQuery {
  /** The time zone in which today begins, as an IANA name; `UTC` by default. */
  time_zone?: string
}

export interface Found {
  /** Kind of the record. */
  kind: 'agent' | 'mandate' | 'seller' | 'transaction'
  /** Id of the record. */
  id: string
  /** Its name, purpose or domain, for display. */
  label: string
}

export interface SearchConsoleQuery {
  /** An id, or part of a text; without it, nothing is found. */
  q?: string
}

export interface SellerSummary {
  /** Id of the seller. */
  id: string
  /** Display name of the seller. */
  name: string
  /** Lower-case ASCII host name. */
  domain: string
  /** Prices, in the seller's own format: stored unchanged, and not used by the service. */
  price_config: Record<string, unknown>
  /** When the seller was registered. */
  created_at: string
  /** Present while the domain is not verified: the seller cannot collect from other accounts. */
  status?: 'pending'
  /** Number of payments to it. */
  paid_count: number
  /** Payments to it minus refunds, in USDC. */
  revenue_total: string
  /** Start of the last 30 days, at midnight UTC. */
  last_month_starts_at: string
  /** Payments to it minus refunds in the last 30 days, in USDC. */
  revenue_last_month: string
  /** Failed verifications for its domain in the last 30 days, by reason. */
  failures_last_month: Array<{
    /** The step that failed. */
    reason: VerificationFailure
    /** Number of verifications that failed at this step; counted a few seconds late, and a crash may lose the latest. */
    count: number
  }>
}

export interface ListConsoleSellersQuery {
  /** Max items in the response. A page of large records may be shorter. */
  limit?: number
  /** Where the page starts, from the `Link` header of the previous page; by default the first page. */
  cursor?: string
}

export interface NewSession {
  /** An API key with the role `owner`, `operator` or `approver`; null or omitted if `set_up_token` is sent. */
  api_key?: string | null
  /** Token of the set-up link of a first start; null or omitted if `api_key` is sent. */
  set_up_token?: string | null
}

export interface Session {
  /** Id of the session; its token is in the cookie. */
  id: string
  /** How the session was started. */
  kind: SessionKind
  /** The signed-in account. */
  account: {
    /** Id of the account. */
    id: string
    /** Name of the person or organization that owns the account. */
    name: string
    /** E-mail address of the owner, as provided. */
    email: string
  }
  /** What the session may do. */
  role: 'operator' | 'owner' | 'approver'
  /** Key of the session, which ends when the key is revoked; null for sign-ins with the identity provider. */
  key_id: string | null
  /** Environments that the session can access; `X-Purser-Environment` selects one, by default the first. */
  environments: Array<Environment>
  /** Send this as `X-Purser-Console` with every request that changes something. */
  csrf_token: string
  /** When the session was started. */
  created_at: string
  /** When the session ends if it is not used; each use extends it, up to `ends_at`. */
  expires_at: string
  /** When the session ends in any case. */
  ends_at: string
}

export interface SignInOptions {
  /** Version of the interface, such as `0.1.0`. */
  version: string
  /** Path where a browser starts signing in with the identity provider; null if none is configured. */
  oidc_path: string | null
}

export interface Spending {
  /** The time of the figures. */
  at: string
  /** The period, as requested. */
  period: '24h' | '7d' | '30d'
  /** Start of the period. */
  starts_at: string
  /** End of the period: that of the current quarter of an hour. */
  ends_at: string
  /** Payments minus refunds in the period. */
  spent: string
  /** Number of payments in the period. */
  paid_count: number
  /** Hours for `24h`, days in `time_zone` otherwise; oldest first. The last one is incomplete. */
  buckets: Array<SpendingBucket>
  /** The period before, as long as this one is so far. */
  previous: {
    /** Start of the previous period. */
    starts_at: string
    /** Its end: on the last day, the same time of day as now. */
    ends_at: string
    /** Payments minus refunds in the previous period. */
    spent: string
    /** Number of payments in the previous period. */
    paid_count: number
    /** Payments minus refunds in each bucket of the previous period. */
    buckets: Array<string>
  }
  /** The parts of the sums; null if none were requested. */
  split: SpendingSplit | null
}

export interface SpendingBucket {
  /** Start of the bucket. */
  starts_at: string
  /** End of the bucket, which may be later than now. */
  ends_at: string
  /** Payments minus refunds in USDC, as decimal text; negative if more was refunded. */
  spent: string
  /** Number of payments. */
  paid_count: number
  /** Sum of those payments in USDC. */
  paid_total: string
  /** Number of refunds, of payments in any bucket. */
  refunded_count: number
  /** Sum of those refunds in USDC. */
  refunded_total: string
  /** Number of denied evaluations and refused proofs. */
  denied_count: number
}

export interface SpendingPart {
  /** Id of the agent, domain of the seller, or the category. */
  subject: string
  /** Name of the agent, if the parts are agents; null otherwise. */
  name: string | null
  /** Payments minus refunds in the period. */
  spent: string
  /** The same for each bucket. */
  buckets: Array<string>
}

export interface SpendingSplit {
  /** What the parts are. */
  by: 'agent' | 'seller' | 'category'
  /** The five with most spending, most first. */
  parts: Array<SpendingPart>
  /** All others. For categories, this includes payments without a category. */
  rest: {
    /** Payments minus refunds of all others in the period. */
    spent: string
    /** The same for each bucket. */
    buckets: Array<string>
  }
}

export interface GetSpendingQuery {
  /** The last 24 hours, or 7 or 30 days with today; `24h` by default. */
  period?: '24h' | '7d' | '30d'
  /** The time zone in which days start, as an IANA name; `UTC` by default. */
  time_zone?: string
  /** What to split the sums by; nothing by default. */
  split?: 'agent' | 'seller' | 'category'
}

export interface ConsoleStatus {
  /** Current time of the service's clock, with the test clock. */
  at: string
  /** How far the test clock of the sandbox is ahead, in seconds. 0 in production. */
  clock_offset_seconds: number
  /** Number of mandates paused by a stop and still paused. */
  stopped_mandates: number
  /** Number of stops so far, and so of the last one: a resumption that names it resumes no later stop. */
  stop_number: number
  /** Number of approvals that wait for a decision. */
  pending_approvals: number
}

export interface Resumed {
  /** Number of resumed mandates. */
  resumed_mandates: number
}

export interface Stopped {
  /** Id of the stop. Use it to undo the stop. */
  stop_id: string
  /** Number of mandates paused by the stop. */
  paused_mandates: number
  /** Number of open proofs voided by the stop. */
  voided_holds: number
  /** Number of mandates that could not be paused yet, for example because their rows are locked. The service keeps trying until they are paused, the stop is undone, or another stop is requested. */
  failed_mandates: number
  /** Authorized payments of the account and environment, which a stop does not end: their merchants may capture them until their deadlines. */
  outstanding_authorized: {
    /** Number of authorized payments. */
    count: number
    /** Their sum in USDC. */
    amount: string
  }
}

export interface System {
  /** Version of the service. */
  version: string
  /** Version of the interface. */
  interface_version: string
  /** Version of Node.js. */
  node_version: string
  /** When the answering process was started. */
  started_at: string
  /** Whole seconds since its start. */
  uptime_seconds: number
  /** Number of processes on this machine; the figures below are for the one that answered. */
  workers: number
  /** The database. */
  store: {
    /** Kind of database. */
    kind: 'sqlite' | 'postgres'
    /** The file, or the server without its password. */
    place: string
    /** Number of applied migrations. */
    schema_version: number
  }
  /** Operations waiting for the database. */
  queue: {
    /** Number of operations waiting for a transaction. */
    waiting: number
    /** Max number of waiting operations; more are refused. */
    most: number
  }
  /** Transactions of this process; durations are for the last 1,024. */
  commit: {
    /** Number of transactions since the start. */
    count: number
    /** Median duration of a transaction in milliseconds; null before the first. */
    p50_ms: number | null
    /** 99th percentile of the duration in milliseconds; null before the first. */
    p99_ms: number | null
  }
  /** Disk usage of the ledger. */
  disk: {
    /** Size in bytes of the file and its WAL, or of the database on its server. */
    ledger_bytes: number
    /** Free bytes on the disk of the file; null for a server, whose disk is not visible. */
    free_bytes: number | null
    /** Size of that disk in bytes; null for a server, whose disk is not visible. */
    total_bytes: number | null
  }
  /** Memory of the process in bytes. */
  memory_bytes: number
  /** Number of open live feeds. */
  open_feeds: number
}

export interface NamedTransaction {
  /** Id of the transaction. */
  id: string
  /** `paid`: a verified payment. `refunded`: a refund of one, in full or in part. `approved` or `denied`: a decision of evaluate, which charges nothing. */
  status: TransactionStatus
  /** Agent that pays or would pay. */
  agent_id: string
  /** Mandate that it pays or would pay from. */
  mandate_id: string
  /** Amount in USDC, as decimal text, as requested. */
  amount: string
  /** Currency of the amounts; always `USDC`. */
  currency: 'USDC'
  /** URL of the purchased resource. */
  resource_url: string
  /** Domain of the seller, as provided. */
  merchant_domain: string
  /** Seller registered under the domain; null if there is none. */
  seller_id: string | null
  /** Category of the payment; null if there was none. */
  category: string | null
  /** Why the decision was made; null for a payment. */
  reason_code:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'resource_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
    | 'velocity_limit_exceeded'
    | 'shared_budget_exceeded'
    | 'budget_frozen'
    | 'approval_required'
    | null
  /** For a denial the requested amount, the limit, and what would help; for a refund the reason that the seller gave; otherwise null. */
  reason_detail: string | null
  /** Order that it pays, or whose payment it refunds; null for none. */
  order_id: string | null
  /** The payment that was refunded; null unless this is a refund. */
  refund_of: string | null
  /** What has been refunded of a payment so far, in USDC, `0.00` for nothing; null unless its status is `paid`. */
  refunded_total: string | null
  /** When the payment, the refund or the decision was made. */
  created_at: string
  /** Number of the version of the mandate that the proof was issued under, or that was evaluated; null if the mandate is unknown. */
  mandate_version: number | null
  /** Texts that were provided with the proof or the evaluation, by name; empty if there are none, and for payments received from another account. */
  metadata: Record<string, string>
  /** Name of the agent; null if it belongs to another account or does not exist. */
  agent_name: string | null
  /** Purpose of the mandate; null if it belongs to another account or does not exist. */
  mandate_purpose: string | null
  /** Name of the seller; null if it belongs to another account or is not registered. */
  seller_name: string | null
}

export interface PaymentRefund {
  /** Id of the refund, a separate transaction. */
  id: string
  /** Refunded amount in USDC, as decimal text. */
  amount: string
  /** Why it was refunded; null if nothing was said. */
  reason: string | null
  /** When it was refunded. */
  created_at: string
}

export interface PolicyCheck {
  /** Number of the check, in order; checks that share a number differ in `label`. */
  check: number
  /** Number of the check as it is shown, such as `6` or `6a`. */
  label: string
  /** What the check asks. */
  name:
    | 'agent_exists'
    | 'agent_active'
    | 'mandate_exists'
    | 'mandate_active'
    | 'mandate_not_expired'
    | 'seller_allowed'
    | 'resource_allowed'
    | 'category_allowed'
    | 'within_transaction_limit'
    | 'within_total_budget'
    | 'within_limits'
    | 'within_shared_budgets'
    | 'approved_by_person'
  /** Result of the check. `not_reached`: an earlier one failed. `not_asked`: not part of this kind of decision. `unknown`: not recorded. */
  state: 'passed' | 'failed' | 'not_reached' | 'not_asked' | 'unknown'
  /** What was checked, such as `api.example.com` or `4.20 + 6.00`; may be empty. */
  value: string
  /** How `value` compares with `limits`: `before` or `not_before` a time, `in` or `not_in` a list, `at_most` or `above` an amount. Null if nothing was compared. */
  relation: 'before' | 'not_before' | 'in' | 'not_in' | 'at_most' | 'above' | null
  /** What the mandate allows: a time, an amount or a list; empty if nothing was compared. */
  limits: Array<string>
  /** The limits over time that were checked; only for `within_limits`. */
  checked_limits?: Array<Limit>
  /** The limit that refuses the payment; only for a failed check. */
  limit?: {
    /** Id of the limit. */
    id: string
    /** Whether it is a limit of the mandate or of a shared budget. */
    scope: 'mandate' | 'budget'
    /** Id of the mandate or of the budget. */
    scope_id: string
    /** Whether the amount or the number of payments is too high. */
    unit: 'amount' | 'count'
    /** The max: an amount in USDC as decimal text, or a number as digits. */
    max: string
    /** What counts so far, in the same unit. */
    committed: string
    /** When there is room for this payment if nothing else is bought; null if never. */
    resets_at: string | null
    /** When it counts. */
    window:
      | {
          /** Unit of the periods, which start at midnight in `time_zone`; or at the first instant of a day without midnight. */
          calendar: 'day' | 'week' | 'month' | 'year'
          /** IANA time zone, such as `Europe/Berlin`. */
          time_zone: string
          /** First day of a week; only for weeks. Default `monday`. */
          week_start?: 'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | 'sunday'
          /** The number of the day on which a month starts; only for months. In shorter months it is the last day. Default 1. */
          day_of_month?: number
        }
      | {
          /** Length in seconds of a window that always ends now. It never admits more than the max in any such window, and counts at most 1/24 longer. */
          rolling_seconds: number
        }
      | 'lifetime'
  }
  /** The shared budget that refuses the payment; only for check 11. */
  budget?: {
    /** Id of the budget. */
    id: string
    /** Name of the budget. */
    name: string
  }
}

export interface TransactionDetail {
  /** The transaction itself. */
  transaction: Transaction
  /** Name of the agent; null if it belongs to another account or does not exist. */
  agent_name: string | null
  /** Purpose of the mandate; null if it belongs to another account or does not exist. */
  mandate_purpose: string | null
  /** When the checks were run: for a payment, when its proof was issued. Null if `checks` is empty. */
  checked_at: string | null
  /** The nine checks in order, with those that the mandate adds; empty for payments received from another account. */
  checks: Array<PolicyCheck>
  /** Proof of the payment; null for a decision, and for another account's proof. */
  proof: ProofRecord | null
  /** Refunds of the payment, oldest first; empty for anything else. */
  refunds: Array<PaymentRefund>
  /** What is left of the payment to refund, if this account has collected it; null otherwise. */
  refundable: string | null
}

export interface ExportTransactionsQuery {
  /** Same as the header `X-Purser-Environment`, for links, which cannot set headers. */
  environment?: Environment
  /** The account whose transactions the caller expects: 403 `insufficient_scope` if the key or session is of another one, because the browser has signed in to another account since. */
  account_id?: string
  /** Only transactions of this agent. */
  agent_id?: string
  /** Only transactions under this mandate, without requests of other agents. */
  mandate_id?: string
  /** Only transactions with this status. */
  status?: TransactionStatus
  /** Only transactions with this domain. */
  merchant_domain?: string
  /** `sent`: only transactions by agents of this account. `received`: only by agents of other accounts. */
  direction?: 'sent' | 'received'
  /** Only decisions with this reason. */
  reason_code?:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'resource_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
    | 'velocity_limit_exceeded'
    | 'shared_budget_exceeded'
    | 'budget_frozen'
    | 'approval_required'
  /** Only transactions at or after this time, with a time zone. */
  created_from?: string
  /** Only transactions before this time, with a time zone. */
  created_before?: string
  /** Only records with this text under this name of their `metadata`, as `metadata[name]=text`. All of several must match. */
  metadata?: Record<string, string>
}

export interface ListConsoleTransactionsQuery {
  /** Max items in the response. A page of large records may be shorter. */
  limit?: number
  /** Where the page starts, from the `Link` header of the previous page; by default the first page. */
  cursor?: string
  /** Only transactions of this agent. */
  agent_id?: string
  /** Only transactions under this mandate, without requests of other agents. */
  mandate_id?: string
  /** Only transactions with this status. */
  status?: TransactionStatus
  /** Only transactions with this domain. */
  merchant_domain?: string
  /** `sent`: only transactions by agents of this account. `received`: only by agents of other accounts. */
  direction?: 'sent' | 'received'
  /** Only decisions with this reason. */
  reason_code?:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'resource_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
    | 'velocity_limit_exceeded'
    | 'shared_budget_exceeded'
    | 'budget_frozen'
    | 'approval_required'
  /** Only transactions at or after this time, with a time zone. */
  created_from?: string
  /** Only transactions before this time, with a time zone. */
  created_before?: string
  /** Only records with this text under this name of their `metadata`, as `metadata[name]=text`. All of several must match. */
  metadata?: Record<string, string>
}

export interface ErrorBody {
  /** Code of the error, such as `not_found`; the reference has a page for each. */
  detail: string
}

export interface ValidationErrorBody {
  /** The first 20 errors, in field order. */
  detail: Array<ValidationItem>
}

export interface ValidationItem {
  /** Kind of error, such as `missing` or `string_type`. */
  type: string
  /** Location of the error: `body` or `query`, then field names and list indexes. */
  loc: Array<string | number>
  /** What is wrong and what is valid, in a sentence. */
  msg: string
  /** The value that was sent. Long text is truncated and ends in `…`; a large object or list is omitted. */
  input?: unknown
  /** The violated limits, by name; omitted if there are none. */
  ctx?: Record<string, unknown>
}

export interface Budget {
  /** Id of the budget. */
  id: string
  /** Display name of the budget. */
  name: string
  /** Budget above it; null for none. It never changes. */
  parent_id: string | null
  /** Limits over time; empty if there are none. */
  limits: Array<Limit>
  /** When it was frozen; null if it is not. */
  frozen_at: string | null
  /** Version number of its name and limits. Send it in `If-Match` to change the budget. */
  version: number
  /** Usage of each limit: those of the mandate, then those of its shared budgets, nearest first. */
  usage?: Array<LimitUsage>
  /** Number of budgets directly below it. */
  children?: number
  /** When the budget was created. */
  created_at: string
  /** When it last changed; initially when it was created. */
  updated_at: string
}

export interface BudgetChange {
  /** Display name of the budget. */
  name?: string
  /** Limits that all payments below the budget share, all of them. One that counts over the same window as before keeps its id and what it has counted; one that is added counts what was committed in its current period. */
  limits?: Array<NewLimit>
  /** Whether all open proofs below the budget end at once, also if nothing else changes, so that a limit may be set below what is committed. Default false: they stay. */
  end_holds?: boolean
}

export interface LimitBelowCommitted {
  /** Always `budget_below_committed`. */
  detail: 'budget_below_committed'
  /** The limit with the max that was requested, and what is committed. */
  usage: LimitUsage
}

export interface NewBudget {
  /** Display name of the budget; need not be unique. */
  name: string
  /** Budget above it, whose limits apply too; null or omitted for none. At most four levels. */
  parent_id?: string | null
  /** Limits that all payments below the budget share. None of them counts `per` subject. */
  limits: Array<NewLimit>
}

export interface Limit {
  /** Id of the limit. It stays when only its max or action changes. */
  id: string
  /** When it counts. */
  window:
    | {
        /** Unit of the periods, which start at midnight in `time_zone`; or at the first instant of a day without midnight. */
        calendar: 'day' | 'week' | 'month' | 'year'
        /** IANA time zone, such as `Europe/Berlin`. */
        time_zone: string
        /** First day of a week; only for weeks. Default `monday`. */
        week_start?: 'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | 'sunday'
        /** The number of the day on which a month starts; only for months. In shorter months it is the last day. Default 1. */
        day_of_month?: number
      }
    | {
        /** Length in seconds of a window that always ends now. It never admits more than the max in any such window, and counts at most 1/24 longer. */
        rolling_seconds: number
      }
    | 'lifetime'
  /** Max sum in a window in USDC; null for none. */
  max_amount: string | null
  /** Max number of payments in a window; null for none. */
  max_count: number | null
  /** Counts separately for each `seller` or `resource`; null for all together. */
  per: 'seller' | 'resource' | null
  /** What happens to a payment that does not fit. */
  action: 'deny' | 'require_approval' | 'notify'
}

export interface LimitUsage {
  /** Id of the limit. */
  limit_id: string
  /** Whether it is a limit of the mandate or of a shared budget. */
  scope: 'mandate' | 'budget'
  /** Id of the mandate or of the budget. */
  scope_id: string
  /** Start of the time whose payments count now; null for `lifetime`. */
  period_starts_at: string | null
  /** When the next counted payment stops counting; null if none will. */
  resets_at: string | null
  /** What counts in USDC: held, authorized and spent, minus what was given back. Null for limits `per` seller or resource. */
  committed: string | null
  /** Number of payments that count; null for limits `per` seller or resource. */
  count: number | null
  /** Max sum in USDC; null for none. */
  max_amount: string | null
  /** Max number of payments; null for none. */
  max_count: number | null
}

export interface NewLimit {
  /** When it counts: calendar periods, the last seconds, or `lifetime`. Payments count when their proof is issued. */
  window:
    | {
        /** Unit of the periods, which start at midnight in `time_zone`; or at the first instant of a day without midnight. */
        calendar: 'day' | 'week' | 'month' | 'year'
        /** IANA time zone, such as `Europe/Berlin`. */
        time_zone: string
        /** First day of a week; only for weeks. Default `monday`. */
        week_start?: 'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | 'sunday'
        /** The number of the day on which a month starts; only for months. In shorter months it is the last day. Default 1. */
        day_of_month?: number
      }
    | {
        /** Length in seconds of a window that always ends now. It never admits more than the max in any such window, and counts at most 1/24 longer. */
        rolling_seconds: number
      }
    | 'lifetime'
  /** Max sum of the payments in a window in USDC, as decimal text; null or omitted for none. */
  max_amount?: string | null
  /** Max number of payments in a window; null or omitted for none. */
  max_count?: number | null
  /** Counted separately for each host of a resource (`seller`), or for each normalized URL without its query (`resource`); null or omitted for all together. Not for shared budgets. */
  per?: 'seller' | 'resource' | null
  /** What happens to a payment that does not fit: `deny` (default) refuses it, `require_approval` asks a person, `notify` approves it and records an event once a period, and again after a change of the limit; with `per`, for the first host or URL that exceeds it. */
  action?: 'deny' | 'require_approval' | 'notify'
}

export interface TestClock {
  /** The time in the sandbox of the account. */
  now: string
  /** How far that is ahead of the time of the service, in seconds. */
  offset_seconds: number
}

export interface TestClockAdvance {
  /** How many seconds to advance the clock. It never goes back. */
  seconds: number
}

export interface ApprovalTerms {
  /** A payment above this amount in USDC needs approval; null or omitted: no amount does. */
  above?: string | null
  /** Whether the first purchase from each seller needs approval. The seller is the host of the resource. */
  first_purchase_at_seller?: boolean
  /** Number of different people who must approve. */
  required?: number
}

export interface BelowCommitted {
  /** Always `budget_below_committed`. */
  detail: 'budget_below_committed'
  /** Total budget that was requested, in USDC. */
  max_spend_total: string
  /** Sum of all verified payments, minus refunds, in USDC. */
  spent_total: string
  /** Sum in USDC held by open proofs. */
  held_total: string
  /** Sum in USDC of authorized payments, which only their merchants or their deadlines end. */
  authorized_total: string
}

export interface Mandate {
  /** Id of the mandate. */
  id: string
  /** Agent of the mandate. */
  agent_id: string
  /** What the budget is for, as free text. */
  purpose: string
  /** Total budget in USDC, as provided. */
  max_spend_total: string
  /** Max amount of one payment in USDC, as provided. */
  max_spend_per_transaction: string
  /** Allowed seller domains; `*` allows every seller, an empty list none. */
  allowed_sellers: Array<string>
  /** Allowed categories of a payment; an empty list or `*` allows every category. */
  allowed_categories: Array<string>
  /** URLs that may be bought, as provided; an empty list allows every URL. */
  allowed_resources: Array<string>
  /** `advisory`: evaluate and verify-agent check the category. `enforced`: proofs need an allowed category, too. */
  category_check: CategoryCheck
  /** Texts that were provided with the mandate, by name; empty if there are none. */
  metadata: Record<string, string>
  /** Limits over time; empty if there are none. */
  limits: Array<Limit>
  /** Shared budget of the mandate; null for none. */
  budget_id: string | null
  /** When the mandate expires, as provided: a time with a time zone (RFC 3339). Expiry does not change its `status`. */
  expires_at: string
  /** When a person must approve a payment; null if no payment needs approval, except for limits that ask for it. */
  approval: {
    /** A payment above this amount in USDC needs approval; null if no amount does. */
    above: string | null
    /** Whether the first purchase from each seller needs approval. */
    first_purchase_at_seller: boolean
    /** Number of different people who must approve. */
    required: number
  } | null
  /** Currency of the amounts; always `USDC`. */
  currency: 'USDC'
  /** Only an `active` mandate allows payments, until it expires. */
  status: MandateStatus
  /** Number of the version of its terms: 1 when it is created, one more with each amendment. Send it in `If-Match` to amend the mandate. */
  version: number
  /** Sum of all verified payments, minus refunds, in USDC, as decimal text. */
  spent_total: string
  /** Sum in USDC held by open proofs: charged when a proof is verified, released when it ends. */
  held_total: string
  /** Sum in USDC of authorized payments: charged when their merchants capture them, released when they end. A payment that is past its deadline can no longer be captured, and counts here until the service releases it, usually within a second. */
  authorized_total: string
  /** `max_spend_total` minus `spent_total` in USDC; held and authorized amounts are not deducted. */
  remaining_budget: string
  /** Max time in seconds between the authorization of a payment and its capture. */
  max_capture_seconds: number
  /** Usage of each limit: those of the mandate, then those of its shared budgets, nearest first. */
  usage?: Array<LimitUsage>
  /** When the mandate was created. */
  created_at: string
  /** When its status or its terms last changed; initially when it was created. */
  updated_at: string
}

export interface MandateAmendment {
  /** What the budget is for. Only an owner changes it. */
  purpose?: string
  /** Total budget in USDC, as decimal text. */
  max_spend_total?: string
  /** Max amount of one payment in USDC, as decimal text. */
  max_spend_per_transaction?: string
  /** Allowed seller domains, all of them. */
  allowed_sellers?: Array<string>
  /** Allowed categories, all of them. */
  allowed_categories?: Array<string>
  /** URLs that may be bought, all of them; an empty list allows every URL. */
  allowed_resources?: Array<string>
  /** When the category is checked: `enforced` also when a proof is issued. */
  category_check?: CategoryCheck
  /** Your own texts, by name, all of them. Only an owner changes them. */
  metadata?: Record<string, string>
  /** When the mandate expires, as a time with a time zone (RFC 3339). */
  expires_at?: string
  /** When a person must approve a payment, as a whole; null: never. */
  approval?: ApprovalTerms | null
  /** Limits over time, all of them. One that counts over the same window as before keeps its id and what it has counted; one that is added counts what was committed in its current period. */
  limits?: Array<NewLimit>
  /** Shared budget in which its payments count from now on; null for none. Earlier payments count where they were booked. Only an owner changes it. */
  budget_id?: string | null
  /** Whether all open proofs of the mandate end at once, also if no term changes, so that what they hold does not stand in the way of a smaller budget. Default false: they stay. */
  end_holds?: boolean
}

export interface MandateVersion {
  /** Number of the version; the highest is the current one. */
  version: number
  /** What the budget is for, as free text. */
  purpose: string
  /** Total budget in USDC, as provided. */
  max_spend_total: string
  /** Max amount of one payment in USDC, as provided. */
  max_spend_per_transaction: string
  /** Allowed seller domains; `*` allows every seller, an empty list none. */
  allowed_sellers: Array<string>
  /** Allowed categories of a payment; an empty list or `*` allows every category. */
  allowed_categories: Array<string>
  /** URLs that may be bought, as provided; an empty list allows every URL. */
  allowed_resources: Array<string>
  /** `advisory`: evaluate and verify-agent check the category. `enforced`: proofs need an allowed category, too. */
  category_check: CategoryCheck
  /** Texts that were provided with the mandate, by name; empty if there are none. */
  metadata: Record<string, string>
  /** Limits over time; empty if there are none. */
  limits: Array<Limit>
  /** Shared budget of the mandate; null for none. */
  budget_id: string | null
  /** When the mandate expires, as provided: a time with a time zone (RFC 3339). Expiry does not change its `status`. */
  expires_at: string
  /** When a person must approve a payment; null if no payment needs approval, except for limits that ask for it. */
  approval: {
    /** A payment above this amount in USDC needs approval; null if no amount does. */
    above: string | null
    /** Whether the first purchase from each seller needs approval. */
    first_purchase_at_seller: boolean
    /** Number of different people who must approve. */
    required: number
  } | null
  /** Key or session that made the amendment; null for version 1, which was created with the mandate. */
  changed_by: string | null
  /** When these terms took effect. */
  created_at: string
}

export interface NewMandate {
  /** Agent of the mandate. */
  agent_id: string
  /** What the budget is for, as free text. */
  purpose: string
  /** Total budget in USDC, as decimal text. */
  max_spend_total: string
  /** Max amount of one payment in USDC, as decimal text. */
  max_spend_per_transaction: string
  /** Currency of the amounts; only `USDC` is accepted. */
  currency?: 'USDC'
  /** Allowed seller domains; `*` allows every seller, an empty list none. */
  allowed_sellers?: Array<string>
  /** Allowed categories of a payment, checked as `category_check` says; an empty list or `*` allows every category. */
  allowed_categories?: Array<string>
  /** URLs that may be bought, checked when a proof is issued and by evaluate and verify-agent; an empty list allows every URL. */
  allowed_resources?: Array<string>
  /** When the category is checked. `advisory`: only by evaluate and verify-agent. `enforced`: also when a proof is issued, which then needs an allowed `category`. */
  category_check?: CategoryCheck
  /** Your own texts, by name: at most 20 names of at most 40 characters, and 500 for each text. */
  metadata?: Record<string, string>
  /** Limits over time, in addition to the other limits; an empty list means none. */
  limits?: Array<NewLimit>
  /** Shared budget that its payments also count in, with all budgets above it; null or omitted for none. */
  budget_id?: string | null
  /** When the mandate expires, as a time with a time zone (RFC 3339). */
  expires_at: string
  /** Max time in seconds between the authorization of a payment and its capture; 600 by default. */
  max_capture_seconds?: number
  /** When a person must approve a payment; null or omitted: never. */
  approval?: ApprovalTerms | null
}

export interface ListMandatesQuery {
  /** Max items in the response. A page of large records may be shorter. */
  limit?: number
  /** Where the page starts, from the `Link` header of the previous page; by default the first page. */
  cursor?: string
  /** Only records with this text under this name of their `metadata`, as `metadata[name]=text`. All of several must match. */
  metadata?: Record<string, string>
}

export interface Backtest {
  /** From when on records were judged. */
  from: string
  /** Up to when records were judged. */
  to: string
  /** Whether everything up to the requested time was judged. Otherwise there are too many records: continue from `to`. */
  is_complete: boolean
  /** Number of judged records: evaluations and proofs. */
  judged: number
  /** Approved records that the draft denies. */
  to_denied: BacktestFlips
  /** Denied records that the draft approves. */
  to_approved: BacktestFlips
  /** Records that were not judged, by reason. */
  not_judged: Array<{
    /** `shared_budget`: denied by a budget that other mandates count in, too. `only_counted`: denied proofs without a record. `not_reproduced`: their circumstances are not known exactly. */
    reason: NotJudgedReason
    /** Number of records. */
    count: number
  }>
}

export interface BacktestCheck {
  /** Number of the check, such as `9` or `6a`. */
  check: string
  /** Code of the denial, before or after. */
  reason_code:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'resource_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
    | 'velocity_limit_exceeded'
    | 'shared_budget_exceeded'
    | 'budget_frozen'
    | 'approval_required'
  /** Number of evaluations. */
  evaluations: number
  /** Number of proofs, issued or denied. */
  payments: number
  /** Sum of those proofs in USDC. */
  amount: string
}

export interface BacktestDecision {
  /** The decision. */
  decision: ApprovalVerdict
  /** The check that denied it; `within_policy` if it was approved. */
  reason_code:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'resource_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
    | 'velocity_limit_exceeded'
    | 'shared_budget_exceeded'
    | 'budget_frozen'
    | 'approval_required'
  /** The amount and the limit; null if it was approved. */
  reason_detail: string | null
}

export interface BacktestExample {
  /** `payment`: an issued proof. `proof`: a denied one. `evaluation`: a decision of evaluate. */
  kind: 'evaluation' | 'proof' | 'payment'
  /** Transaction of the record; null for a payment that was not charged. */
  transaction_id: string | null
  /** UUID of the proof of a payment; null for a decision. */
  nonce: string | null
  /** When it was decided. */
  created_at: string
  /** Amount in USDC, as requested. */
  amount: string
  /** URL of the resource. */
  resource_url: string
  /** Domain of the seller; null for a payment that was not charged. */
  merchant_domain: string | null
  /** Category of the payment; null if there was none. */
  category: string | null
  /** What was decided. */
  recorded: BacktestDecision
  /** What the draft decides. */
  drafted: BacktestDecision
}

export interface BacktestFlips {
  /** Number of evaluations. */
  evaluations: number
  /** Number of proofs, issued or denied. */
  payments: number
  /** Sum of those proofs in USDC. */
  amount: string
  /** The same by the check that denies, before or after. */
  by_check: Array<BacktestCheck>
  /** The first ones, at most 10. */
  examples: Array<BacktestExample>
}

export interface BacktestRequest {
  /** The terms to try; omitted ones are the mandate’s. */
  draft: MandateDraft
  /** Only records at or after this time, with a time zone. By default 30 days before `to`. */
  from?: string
  /** Only records before this time, with a time zone. By default now. */
  to?: string
}

export interface MandateDraft {
  /** What the budget is for. Only an owner changes it. */
  purpose?: string
  /** Total budget in USDC, as decimal text. */
  max_spend_total?: string
  /** Max amount of one payment in USDC, as decimal text. */
  max_spend_per_transaction?: string
  /** Allowed seller domains, all of them. */
  allowed_sellers?: Array<string>
  /** Allowed categories, all of them. */
  allowed_categories?: Array<string>
  /** URLs that may be bought, all of them; an empty list allows every URL. */
  allowed_resources?: Array<string>
  /** When the category is checked: `enforced` also when a proof is issued. */
  category_check?: CategoryCheck
  /** Your own texts, by name, all of them. Only an owner changes them. */
  metadata?: Record<string, string>
  /** When the mandate expires, as a time with a time zone (RFC 3339). */
  expires_at?: string
  /** When a person must approve a payment, as a whole; null: never. */
  approval?: ApprovalTerms | null
  /** Limits over time, in addition to the other limits; an empty list means none. */
  limits?: Array<NewLimit>
}

export interface PageQuery {
  /** Max items in the response. A page of large records may be shorter. */
  limit?: number
  /** Where the page starts, from the `Link` header of the previous page; by default the first page. */
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
  /** Agent that requested the proof. */
  agentId: string
  /** Mandate that is charged. */
  mandateId: string
  /** Payment amount in USDC, as decimal text; compared as text. */
  amount: string
  /** Currency of the amount; compared as text. */
  currency: string
  /** URL of the purchased resource. */
  resource: string
  /** UUID of the proof. Use it to look up the proof, which is charged at most once. */
  nonce: string
  /** When the proof was issued, as a time with a time zone (RFC 3339). It can be verified for five minutes. */
  timestamp: string
  /** HMAC-SHA256 over the other fields, in hexadecimal. */
  signature: string
}

export interface ProofDenial {
  /** Always `denied`. */
  decision: 'denied'
  /** The first check that failed. */
  reason_code: DenialCode
  /** The requested amount, the limit, and what would help. */
  reason_detail: string
  /** Agent of the request. */
  agent_id: string
  /** Mandate of the request. */
  mandate_id: string
  /** The approval to wait for or to use, if `reason_code` is `approval_required`. */
  approval?: ApprovalReference
  /** The limit that refuses the payment; only for checks 10 and 11. */
  limit?: {
    /** Id of the limit. */
    id: string
    /** Whether it is a limit of the mandate or of a shared budget. */
    scope: 'mandate' | 'budget'
    /** Id of the mandate or of the budget. */
    scope_id: string
    /** Whether the amount or the number of payments is too high. */
    unit: 'amount' | 'count'
    /** The max: an amount in USDC as decimal text, or a number as digits. */
    max: string
    /** What counts so far, in the same unit. */
    committed: string
    /** When there is room for this payment if nothing else is bought; null if never. */
    resets_at: string | null
  }
  /** The shared budget that refuses the payment; only for check 11. */
  budget?: {
    /** Id of the budget. */
    id: string
    /** Name of the budget. */
    name: string
  }
}

export interface ProofRecord {
  /** UUID of the proof. */
  nonce: string
  /** State of the proof: an `open` one holds its amount, for a minute longer than the five in which it can be charged or authorized, an `authorized` one waits for its merchant to capture it, and only a `captured` one was charged. */
  status: ProofStatus
  /** Agent that requested the proof. */
  agent_id: string
  /** Mandate that it pays from. */
  mandate_id: string
  /** Amount of the proof in USDC, as decimal text. */
  amount: string
  /** Currency of the amounts; always `USDC`. */
  currency: 'USDC'
  /** URL of the purchased resource. */
  resource: string
  /** When the proof was issued. */
  issued_at: string
  /** When its hold ends, unless it is charged or authorized before. */
  expires_at: string
  /** When its authorization ends, unless it is captured or voided before; null if it was never authorized. */
  capture_deadline: string | null
  /** Transaction that records the charge; null if there is none. */
  transaction_id: string | null
  /** What was charged in USDC, less than `amount` if the merchant captured a part; null if nothing was charged. */
  captured_amount: string | null
  /** Order that it pays; null for none. */
  order_id: string | null
}

export interface ProofRequest {
  /** Agent that pays. */
  agent_id: string
  /** Mandate that it pays from. */
  mandate_id: string
  /** Payment amount in USDC, as decimal text. */
  amount: string
  /** Currency of the amounts; only `USDC` is accepted. */
  currency?: 'USDC'
  /** URL of the purchased resource, compared with `allowed_resources`; its host determines who may collect. */
  resource_url: string
  /** Category of the payment; null or omitted for none. With `category_check: enforced` it must be in `allowed_categories`. */
  category?: string | null
  /** Your own texts for the transaction of the payment, by name. */
  metadata?: Record<string, string>
  /** Your id of the order, which is paid once under the mandate; null or omitted for none. The same order gets the same proof until it is paid. */
  order_id?: string | null
  /** The approval that a person has given, from the `approval` of an earlier refusal; it is used up. Null or omitted for none. */
  approval_id?: string | null
}

export interface Verified {
  /** Always `true`: the charge is recorded. */
  verified: true
  /** Transaction that records the charge. */
  transaction_id: string
}

export interface VerifyRequest {
  /** The complete proof, as issued. */
  proof: Proof
  /** Domain under which the seller collects. */
  merchant_domain: string
  /** Price in USDC, as decimal text; must equal the proof's `amount`, compared as text. */
  expected_amount: string
  /** Currency of the price; must equal the proof's `currency`, compared as text. */
  expected_currency?: string
  /** Category of the sale; if it is given, it must equal the proof's. Null or omitted to accept any. */
  category?: string | null
}

export interface Approval {
  /** Always `approved`. */
  decision: 'approved'
  /** Always `within_policy`. */
  reason_code: 'within_policy'
  /** Always null for an approval. */
  reason_detail: null
  /** Agent of the request. */
  agent_id: string
  /** Mandate of the request. */
  mandate_id: string
  /** Transaction that records the decision; null for a dry run, which records nothing. */
  transaction_id: string | null
}

export interface Denial {
  /** Always `denied`. */
  decision: 'denied'
  /** The first check that failed. */
  reason_code: DenialCode
  /** The requested amount, the limit, and what would help. */
  reason_detail: string
  /** Agent of the request. */
  agent_id: string
  /** Mandate of the request. */
  mandate_id: string
  /** Transaction that records the decision; null for a dry run, which records nothing. */
  transaction_id: string | null
  /** The limit that refuses the payment; only for checks 10 and 11. */
  limit?: {
    /** Id of the limit. */
    id: string
    /** Whether it is a limit of the mandate or of a shared budget. */
    scope: 'mandate' | 'budget'
    /** Id of the mandate or of the budget. */
    scope_id: string
    /** Whether the amount or the number of payments is too high. */
    unit: 'amount' | 'count'
    /** The max: an amount in USDC as decimal text, or a number as digits. */
    max: string
    /** What counts so far, in the same unit. */
    committed: string
    /** When there is room for this payment if nothing else is bought; null if never. */
    resets_at: string | null
  }
  /** The shared budget that refuses the payment; only for check 11. */
  budget?: {
    /** Id of the budget. */
    id: string
    /** Name of the budget. */
    name: string
  }
}

export interface EvaluateRequest {
  /** Agent that would pay. */
  agent_id: string
  /** Mandate that it would pay from. */
  mandate_id: string
  /** Domain of the seller, compared with `allowed_sellers`. */
  merchant_domain: string
  /** Payment amount in USDC, as decimal text. */
  amount: string
  /** Currency of the amounts; only `USDC` is accepted. */
  currency?: 'USDC'
  /** URL of the resource, compared with `allowed_resources`; recorded, but not fetched. */
  resource_url: string
  /** Category of the payment, compared with `allowed_categories`; null or omitted for none. */
  category?: string | null
  /** Your own texts for the transaction, by name. */
  metadata?: Record<string, string>
  /** Whether only to decide: nothing is recorded, and `transaction_id` is null. Default false. */
  dry_run?: boolean
}

export interface ProposedPayment {
  /** Agent that would pay. */
  agent_id: string
  /** Mandate that it would pay from. */
  mandate_id: string
  /** Domain of the seller, compared with `allowed_sellers`. */
  merchant_domain: string
  /** Payment amount in USDC, as decimal text. */
  amount: string
  /** Currency of the amounts; only `USDC` is accepted. */
  currency?: 'USDC'
  /** URL of the resource, compared with `allowed_resources`; recorded, but not fetched. */
  resource_url: string
  /** Category of the payment, compared with `allowed_categories`; null or omitted for none. */
  category?: string | null
}

export interface RefundRequest {
  /** Amount to refund in USDC, as decimal text. The refunds of a payment never exceed its charge. */
  amount: string
  /** Why it is refunded, for the records of both accounts. */
  reason?: string
}

export interface NewSeller {
  /** Display name of the seller. */
  name: string
  /** Domain that payments use as `merchant_domain`; unique in each environment. */
  domain: string
  /** Prices, in the seller's own format: stored unchanged, and not used by the service. */
  price_config: Record<string, unknown>
}

export interface ReleasedDomain {
  /** The released domain, as a lower-case ASCII host name. */
  domain: string
  /** Seller that had the domain. */
  seller_id: string
  /** Account of that seller. */
  account_id: string
}

export interface Seller {
  /** Id of the seller. */
  id: string
  /** Display name of the seller. */
  name: string
  /** Lower-case ASCII host name. */
  domain: string
  /** Prices, in the seller's own format: stored unchanged, and not used by the service. */
  price_config: Record<string, unknown>
  /** When the seller was registered. */
  created_at: string
  /** Present while the domain is not verified: the seller cannot collect from other accounts. */
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
  /** The URL of the file that can be used instead of the record. */
  file_url: string
  /** The text of the record, or of one line in the file. */
  text: string
  /** What the check did not find; null if it succeeded, or was not run. */
  missing: string | null
}

export interface AccountSession {
  /** Id of the session, not its token. */
  id: string
  /** Account that is signed in. */
  account_id: string
  /** How the session was started. */
  kind: SessionKind
  /** What the session may do. */
  role: 'operator' | 'owner' | 'approver'
  /** Key of the session, which ends when the key is revoked; null for sign-ins with the identity provider. */
  key_id: string | null
  /** Environments that the session can access. */
  environments: Array<Environment>
  /** When the session began. */
  created_at: string
  /** When the session was last used, accurate to five minutes. */
  used_at: string
  /** When the session ends unless it is used again. */
  expires_at: string
  /** Whether this request was made with the session. */
  is_current: boolean
}

export interface EndSessionOfAccountQuery {
  /** Account to use; by default the key's own. Only operators may specify another one. */
  account_id?: string
}

export interface ListSessionsQuery {
  /** Max items in the response. A page of large records may be shorter. */
  limit?: number
  /** Where the page starts, from the `Link` header of the previous page; by default the first page. */
  cursor?: string
  /** Account to use; by default the key's own. Only operators may specify another one. */
  account_id?: string
}

export interface Transaction {
  /** Id of the transaction. */
  id: string
  /** `paid`: a verified payment. `refunded`: a refund of one, in full or in part. `approved` or `denied`: a decision of evaluate, which charges nothing. */
  status: TransactionStatus
  /** Agent that pays or would pay. */
  agent_id: string
  /** Mandate that it pays or would pay from. */
  mandate_id: string
  /** Amount in USDC, as decimal text, as requested. */
  amount: string
  /** Currency of the amounts; always `USDC`. */
  currency: 'USDC'
  /** URL of the purchased resource. */
  resource_url: string
  /** Domain of the seller, as provided. */
  merchant_domain: string
  /** Seller registered under the domain; null if there is none. */
  seller_id: string | null
  /** Category of the payment; null if there was none. */
  category: string | null
  /** Why the decision was made; null for a payment. */
  reason_code:
    | 'within_policy'
    | 'agent_revoked'
    | 'mandate_expired'
    | 'merchant_not_allowed'
    | 'resource_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
    | 'velocity_limit_exceeded'
    | 'shared_budget_exceeded'
    | 'budget_frozen'
    | 'approval_required'
    | null
  /** For a denial the requested amount, the limit, and what would help; for a refund the reason that the seller gave; otherwise null. */
  reason_detail: string | null
  /** Order that it pays, or whose payment it refunds; null for none. */
  order_id: string | null
  /** The payment that was refunded; null unless this is a refund. */
  refund_of: string | null
  /** What has been refunded of a payment so far, in USDC, `0.00` for nothing; null unless its status is `paid`. */
  refunded_total: string | null
  /** When the payment, the refund or the decision was made. */
  created_at: string
  /** Number of the version of the mandate that the proof was issued under, or that was evaluated; null if the mandate is unknown. */
  mandate_version: number | null
  /** Texts that were provided with the proof or the evaluation, by name; empty if there are none, and for payments received from another account. */
  metadata: Record<string, string>
}

export interface TransactionsQuery {
  /** Only transactions of this agent. */
  agent_id?: string
  /** Only transactions under this mandate, without requests of other agents. */
  mandate_id?: string
  /** Only transactions with this status. */
  status?: TransactionStatus
  /** Only transactions with this domain. */
  merchant_domain?: string
  /** Only transactions at or after this time, with a time zone. */
  created_from?: string
  /** Only transactions before this time, with a time zone. */
  created_to?: string
  /** Only records with this text under this name of their `metadata`, as `metadata[name]=text`. All of several must match. */
  metadata?: Record<string, string>
}

export interface ListTransactionsQuery {
  /** Max items in the response. A page of large records may be shorter. */
  limit?: number
  /** Where the page starts, from the `Link` header of the previous page; by default the first page. */
  cursor?: string
  /** Only transactions of this agent. */
  agent_id?: string
  /** Only transactions under this mandate, without requests of other agents. */
  mandate_id?: string
  /** Only transactions with this status. */
  status?: TransactionStatus
  /** Only transactions with this domain. */
  merchant_domain?: string
  /** Only transactions at or after this time, with a time zone. */
  created_from?: string
  /** Only transactions before this time, with a time zone. */
  created_to?: string
  /** Only records with this text under this name of their `metadata`, as `metadata[name]=text`. All of several must match. */
  metadata?: Record<string, string>
}

export interface AgentReport {
  /** Whether the agent exists and is active. */
  verified: boolean
  /** Whether every check passed. */
  authorized: boolean
  /** Whether the agent can pay under this mandate. */
  payment_ready: boolean
  /** The agent in question. */
  agent: {
    /** Id of the agent, as requested. */
    id: string
    /** Name of the agent; `unknown` if there is no such agent. */
    name: string
    /** What the agent says it can do; empty if there is no such agent. */
    capabilities: Array<string>
    /** Status of the agent; `unknown` if there is no such agent. */
    status: 'active' | 'revoked' | 'unknown'
  }
  /** The mandate in question. */
  mandate: {
    /** Id of the mandate, as requested. */
    id: string
    /** What the budget is for; empty if there is no such mandate. */
    purpose: string
    /** Currency of the amounts; always `USDC`. */
    currency: string
    /** Total budget minus the amount spent, in USDC; `0` if there is no such mandate. */
    remaining_budget: string
    /** When the mandate expires, as provided; empty if there is no such mandate. */
    expires_at: string
  }
  /** How unusual the payment is for this agent and mandate. */
  risk: {
    /** From 0 (nothing unusual) to 100; it does not affect any decision. */
    score: number
    /** What is unusual about the payment; empty if nothing is. */
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
    | 'resource_not_allowed'
    | 'amount_exceeds_per_transaction_limit'
    | 'total_budget_exceeded'
    | 'velocity_limit_exceeded'
    | 'shared_budget_exceeded'
    | 'budget_frozen'
    | 'approval_required'
}
