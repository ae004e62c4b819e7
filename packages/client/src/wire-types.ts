// Made from packages/wire by `npm run client-types`; a test compares.

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
  /** The id of the key that acted, or `system`. */
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
