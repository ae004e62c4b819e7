import type { AgentStatus } from '@purser/wire/agents'
import type { Role } from '@purser/wire/api-keys'
import type { AuditEventType } from '@purser/wire/audit-log'
import type { Currency, Environment } from '@purser/wire/fields'
import type { MandateStatus } from '@purser/wire/mandates'
import type { ProofStatus } from '@purser/wire/payments'
import type { DenialCode } from '@purser/wire/policy'

import type { MicroUsdc } from '../../domain/money.ts'
import { columnOf, nullable, table, type TableRow } from './table.ts'

const { id, text, micro, integer, json, bytes } = columnOf

// Every table of the ledger. The order is that in which rows are locked: agents before their mandates, mandates before
// their payments.

export const accounts = table('accounts', ['id'], {
  id: id(),
  name: text(),
  email: text(),
  idpUserId: text(),
  createdAtMs: integer(),
  disabledAtMs: nullable(integer()),
})

/** The account of each user of the identity provider. */
export const identities = table('identities', ['idpUserId'], {
  idpUserId: text(),
  accountId: id(),
})

export const apiKeys = table('api_keys', ['accountId', 'id'], {
  accountId: id(),
  id: id(),
  environment: text<Environment>(),
  role: text<Role>(),
  agentId: nullable(id()),
  label: nullable(text()),
  hint: text(),
  secretHash: bytes(),
  createdAtMs: integer(),
  revokedAtMs: nullable(integer()),
})

export const agents = table('agents', ['accountId', 'id'], {
  accountId: id(),
  id: id(),
  environment: text<Environment>(),
  name: text(),
  description: nullable(text()),
  capabilities: json<readonly string[]>(),
  status: text<AgentStatus>(),
  createdAtMs: integer(),
  revokedAtMs: nullable(integer()),
})

export const mandates = table('mandates', ['accountId', 'id'], {
  accountId: id(),
  id: id(),
  environment: text<Environment>(),
  agentId: id(),
  purpose: text(),
  maxTotalText: text(),
  maxTotalMicro: micro<MicroUsdc>(),
  maxPerTransactionText: text(),
  maxPerTransactionMicro: micro<MicroUsdc>(),
  currency: text<Currency>(),
  allowedSellers: json<readonly string[]>(),
  allowedCategories: json<readonly string[]>(),
  expiresAtText: text(),
  expiresAtMs: integer(),
  status: text<MandateStatus>(),
  /** The stop that has paused it, until somebody moves it otherwise. */
  stoppedBy: nullable(id()),
  /** Grows whenever all open payments end at once: a payment of an earlier epoch cannot be captured. */
  epoch: integer(),
  spentMicro: micro<MicroUsdc>(),
  /** What the open payments of this epoch hold, the expired ones included until they are released. */
  heldMicro: micro<MicroUsdc>(),
  /** How many payments hold it. */
  openPayments: integer(),
  /** Every payment that expired up to this moment is released. */
  releasedUntilMs: integer(),
  createdAtMs: integer(),
  updatedAtMs: integer(),
})

/** Who is registered under a domain. */
export const sellerDomains = table('seller_domains', ['environment', 'domain'], {
  environment: text<Environment>(),
  domain: text(),
  accountId: id(),
  sellerId: id(),
})

export const sellers = table('sellers', ['accountId', 'id'], {
  accountId: id(),
  id: id(),
  environment: text<Environment>(),
  name: text(),
  domain: text(),
  priceConfig: text(),
  createdAtMs: integer(),
})

/** One row for each payment, from its proof on. Its mandate is locked before it changes. */
export const payments = table('payments', ['accountId', 'nonce'], {
  accountId: id(),
  nonce: id(),
  environment: text<Environment>(),
  agentId: id(),
  mandateId: id(),
  amountText: text(),
  amountMicro: micro<MicroUsdc>(),
  currency: text<Currency>(),
  resourceUrl: text(),
  /** `open` counts only in the epoch of the mandate: `statusOf` tells what it is. */
  status: text<ProofStatus>(),
  epoch: integer(),
  issuedAtMs: integer(),
  expiresAtMs: integer(),
  spentBeforeMicro: micro<MicroUsdc>(),
  heldBeforeMicro: micro<MicroUsdc>(),
  transactionId: nullable(id()),
  capturedBy: nullable(id()),
  capturedAtMs: nullable(integer()),
  merchantDomain: nullable(text()),
  idempotencyKey: nullable(text()),
  sellerAccountId: nullable(id()),
  sellerId: nullable(id()),
})

/** The proof that a request with an `Idempotency-Key` was answered with. */
export const proofRequests = table('proof_requests', ['accountId', 'environment', 'callerId', 'requestKey'], {
  accountId: id(),
  environment: text<Environment>(),
  callerId: id(),
  requestKey: text(),
  nonce: id(),
  createdAtMs: integer(),
})

export const evaluations = table('evaluations', ['accountId', 'id'], {
  accountId: id(),
  id: id(),
  environment: text<Environment>(),
  /** As it was asked about: it may be none of ours. */
  agentId: text(),
  mandateId: text(),
  amountText: text(),
  amountMicro: micro<MicroUsdc>(),
  currency: text<Currency>(),
  resourceUrl: text(),
  merchantDomain: text(),
  sellerAccountId: nullable(id()),
  sellerId: nullable(id()),
  category: nullable(text()),
  /** Null when it was approved. */
  reasonCode: nullable(text<DenialCode>()),
  reasonDetail: nullable(text()),
  failedCheck: nullable(integer()),
  spentBeforeMicro: nullable(micro<MicroUsdc>()),
  createdAtMs: integer(),
})

/** The journal: what has happened, in each account that it concerns. Rows are added and never changed. */
export const entries = table('entries', ['accountId', 'id'], {
  accountId: id(),
  /** That of the transaction. */
  id: id(),
  environment: text<Environment>(),
  kind: text<'approved' | 'denied' | 'paid' | 'received'>(),
  /** The account that has the payment or the evaluation. */
  payerId: id(),
  /** The nonce of a payment; null for an evaluation, which has the id of the entry. */
  nonce: nullable(id()),
  mandateId: text(),
  amountMicro: micro<MicroUsdc>(),
  atMs: integer(),
})

export const auditEvents = table('audit_events', ['accountId', 'id'], {
  accountId: id(),
  id: id(),
  environment: text<Environment>(),
  type: text<AuditEventType>(),
  actor: text(),
  subjectId: text(),
  data: json<Readonly<Record<string, unknown>>>(),
  createdAtMs: integer(),
})

export type AccountRow = TableRow<typeof accounts>
export type ApiKeyRow = TableRow<typeof apiKeys>
export type AgentRow = TableRow<typeof agents>
export type MandateRow = TableRow<typeof mandates>
export type PaymentRow = TableRow<typeof payments>
