import { sql } from 'kysely'

import type { AgentStatus } from '@purser/wire/agents'
import type { Role } from '@purser/wire/roles'
import type { AuditEventType } from '@purser/wire/audit-log'
import type { Environment } from '@purser/wire/fields'
import type { MandateStatus } from '@purser/wire/mandates'
import type { ProofStatus } from '@purser/wire/payments'
import type { DenialCode } from '@purser/wire/policy'
import type { TransactionStatus } from '@purser/wire/transactions'

import type { MicroUsdc } from '../domain/money.ts'
import type {
  Account,
  Agent,
  ApiKey,
  AuditEvent,
  Caller,
  Hold,
  ListedSeller,
  Mandate,
  Seller,
  Transaction,
} from '../domain/records.ts'

import type { StoredSession } from './console/store.ts'
import { parseList } from './parsed-lists.ts'

/** A whole number as a driver hands it over: SQLite's as bigint, PostgreSQL's bigint as text. */
export type Int = number | bigint | string

/** The columns of every table, spelled as the schemas spell them. */
export interface Tables {
  accounts: AccountRow
  api_keys: ApiKeyRow
  record_accounts: { id: string; account_id: string }
  agents: AgentRow
  mandates: MandateRow
  sellers: SellerRow
  seller_domains: { environment: Environment; domain: string; account_id: string; seller_id: string }
  holds: HoldRow
  transactions: TransactionRow
  /** The events that are records of their own. */
  recorded_events: AuditEventRow
  /** The payments, as events. */
  payment_events: AuditEventRow
  sessions: SessionRow
}

export interface AccountRow {
  id: string
  name: string
  email: string
  idp_user_id: string
  created_at_ms: Int
  disabled_at_ms: Int | null
}

export interface SessionRow {
  account_id: string
  token_hash: Buffer
  id: string
  kind: StoredSession['kind']
  role: StoredSession['role']
  key_id: string | null
  environment: Environment | null
  created_at_ms: Int
  used_at_ms: Int
  ends_at_ms: Int
}

interface ScopeColumns {
  account_id: string
  environment: Environment
}

export interface ApiKeyRow extends ScopeColumns {
  id: string
  role: Role
  agent_id: string | null
  label: string | null
  hint: string
  created_at_ms: Int
  revoked_at_ms: Int | null
}

export interface AgentRow extends ScopeColumns {
  id: string
  name: string
  description: string | null
  capabilities: string
  status: AgentStatus
  created_at_ms: Int
  revoked_at_ms: Int | null
}

export interface MandateRow extends ScopeColumns {
  id: string
  agent_id: string
  purpose: string
  max_total_text: string
  max_total_micro: Int
  max_per_transaction_text: string
  max_per_transaction_micro: Int
  currency: 'USDC'
  allowed_sellers: string
  allowed_categories: string
  expires_at_text: string
  expires_at_ms: Int
  status: MandateStatus
  spent_micro: Int
  held_micro: Int
  created_at_ms: Int
  updated_at_ms: Int
  /** The stop of all agents that paused it; null when somebody else moved it. */
  stopped_by: string | null
}

export interface SellerRow extends ScopeColumns {
  id: string
  name: string
  domain: string
  price_config: string
  created_at_ms: Int
}

export interface HoldRow extends ScopeColumns {
  nonce: string
  agent_id: string
  mandate_id: string
  amount_text: string
  amount_micro: Int
  currency: 'USDC'
  resource_url: string
  status: ProofStatus
  issued_at_ms: Int
  expires_at_ms: Int
  transaction_id: string | null
  captured_by: string | null
  merchant_domain: string | null
  idempotency_key: string | null
  spent_before_micro: Int | null
  held_before_micro: Int | null
  /** Who sent the request for the proof, and its `Idempotency-Key`; null when it had none. */
  requested_by: string | null
  request_key: string | null
}

export interface TransactionRow extends ScopeColumns {
  id: string
  side: 'payer' | 'payee'
  status: TransactionStatus
  agent_id: string
  mandate_id: string
  amount_text: string
  amount_micro: Int
  currency: 'USDC'
  resource_url: string
  merchant_domain: string
  seller_account_id: string | null
  seller_id: string | null
  category: string | null
  reason_code: 'within_policy' | DenialCode | null
  reason_detail: string | null
  nonce: string | null
  created_at_ms: Int
  failed_check: Int | null
  spent_before_micro: Int | null
  /** The key that collected a payment; null in the payee's copy, and where the payment has an event of its own. */
  collected_by: string | null
}

/** What every transaction is written with, in this order. */
export const transactionColumns = [
  'account_id',
  'id',
  'environment',
  'side',
  'status',
  'agent_id',
  'mandate_id',
  'amount_text',
  'amount_micro',
  'currency',
  'resource_url',
  'merchant_domain',
  'seller_account_id',
  'seller_id',
  'category',
  'reason_code',
  'reason_detail',
  'nonce',
  'created_at_ms',
  'failed_check',
  'spent_before_micro',
] as const satisfies readonly (keyof TransactionRow)[]

/** The columns that a list of transactions shows. */
export const listedColumns = [
  'account_id',
  'id',
  'environment',
  'side',
  'status',
  'agent_id',
  'mandate_id',
  'amount_text',
  'amount_micro',
  'currency',
  'resource_url',
  'merchant_domain',
  'seller_id',
  'category',
  'reason_code',
  'reason_detail',
  'nonce',
  'created_at_ms',
] as const satisfies readonly (keyof TransactionRow)[]

/** What of a row of transactions a list shows. */
export type ListedRow = Pick<TransactionRow, (typeof listedColumns)[number]>

export interface AuditEventRow extends ScopeColumns {
  id: string
  type: AuditEventType
  actor: string
  subject_id: string
  data: string
  created_at_ms: Int
}

export function toAccount(row: AccountRow): Account {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    idpUserId: row.idp_user_id,
    createdAtMs: Number(row.created_at_ms),
    disabledAtMs: row.disabled_at_ms === null ? null : Number(row.disabled_at_ms),
  }
}

export function toSession(row: SessionRow): StoredSession {
  return {
    accountId: row.account_id,
    tokenHash: row.token_hash,
    id: row.id,
    kind: row.kind,
    role: row.role,
    keyId: row.key_id,
    environment: row.environment,
    createdAtMs: Number(row.created_at_ms),
    usedAtMs: Number(row.used_at_ms),
    endsAtMs: Number(row.ends_at_ms),
  }
}

export function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    ...scopeOf(row),
    id: row.id,
    role: row.role,
    agentId: row.agent_id,
    label: row.label,
    hint: row.hint,
    createdAtMs: Number(row.created_at_ms),
    revokedAtMs: toMs(row.revoked_at_ms),
  }
}

export function toCaller(row: ApiKeyRow): Caller {
  return { ...scopeOf(row), keyId: row.id, role: row.role, agentId: row.agent_id }
}

export function toAgent(row: AgentRow): Agent {
  return {
    ...scopeOf(row),
    id: row.id,
    name: row.name,
    description: row.description,
    capabilities: JSON.parse(row.capabilities) as string[],
    status: row.status,
    createdAtMs: Number(row.created_at_ms),
    revokedAtMs: toMs(row.revoked_at_ms),
  }
}

export function toMandate(row: MandateRow): Mandate {
  return {
    ...scopeOf(row),
    id: row.id,
    agentId: row.agent_id,
    purpose: row.purpose,
    maxTotalText: row.max_total_text,
    maxTotalMicro: toMicro(row.max_total_micro),
    maxPerTransactionText: row.max_per_transaction_text,
    maxPerTransactionMicro: toMicro(row.max_per_transaction_micro),
    currency: row.currency,
    allowedSellers: parseList(row.allowed_sellers),
    allowedCategories: parseList(row.allowed_categories),
    expiresAtText: row.expires_at_text,
    expiresAtMs: Number(row.expires_at_ms),
    status: row.status,
    spentMicro: toMicro(row.spent_micro),
    heldMicro: toMicro(row.held_micro),
    createdAtMs: Number(row.created_at_ms),
    updatedAtMs: Number(row.updated_at_ms),
  }
}

function toSeller(row: SellerRow): Seller {
  return {
    ...scopeOf(row),
    id: row.id,
    name: row.name,
    domain: row.domain,
    priceConfig: row.price_config,
    createdAtMs: Number(row.created_at_ms),
  }
}

/** The account that has the domain of a row of `sellers`. */
export const ownerOfDomain = sql<string | null>`(
  select d.account_id from seller_domains d where d.environment = sellers.environment and d.domain = sellers.domain
)`

/** A seller, with the account that has its domain. */
export function toListedSeller(row: SellerRow & { owner_id: string | null }): ListedSeller {
  return { ...toSeller(row), isPending: row.owner_id !== row.account_id }
}

export function toHold(row: HoldRow): Hold {
  return {
    ...scopeOf(row),
    nonce: row.nonce,
    agentId: row.agent_id,
    mandateId: row.mandate_id,
    amountText: row.amount_text,
    amountMicro: toMicro(row.amount_micro),
    currency: row.currency,
    resourceUrl: row.resource_url,
    status: row.status,
    issuedAtMs: Number(row.issued_at_ms),
    expiresAtMs: Number(row.expires_at_ms),
    transactionId: row.transaction_id,
  }
}

export function toTransaction(row: ListedRow): Transaction {
  return {
    ...scopeOf(row),
    id: row.id,
    status: row.status,
    agentId: row.agent_id,
    mandateId: row.mandate_id,
    amountText: row.amount_text,
    amountMicro: toMicro(row.amount_micro),
    currency: row.currency,
    resourceUrl: row.resource_url,
    merchantDomain: row.merchant_domain,
    sellerId: row.seller_id,
    category: row.category,
    reasonCode: row.reason_code,
    reasonDetail: row.reason_detail,
    createdAtMs: Number(row.created_at_ms),
  }
}

export function toAuditEvent(row: AuditEventRow): AuditEvent {
  return {
    ...scopeOf(row),
    id: row.id,
    type: row.type,
    actor: row.actor,
    subjectId: row.subject_id,
    data: JSON.parse(row.data) as Record<string, unknown>,
    createdAtMs: Number(row.created_at_ms),
  }
}

function scopeOf(row: ScopeColumns) {
  return { accountId: row.account_id, environment: row.environment }
}

function toMicro(value: Int): MicroUsdc {
  return BigInt(value) as MicroUsdc
}

function toMs(value: Int | null): number | null {
  return value === null ? null : Number(value)
}
