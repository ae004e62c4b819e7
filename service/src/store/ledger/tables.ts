// Longer than 400 lines: all tables are declared in one place: the order of the declarations is the order in which rows are locked.
import type { ApprovalReason } from '@purser/wire/approvals'
import type { AuditEventType } from '@purser/wire/audit-log'
import type { MandateTerms } from '@purser/wire/mandates'
import type { VerificationFailure } from '@purser/wire/payments'
import type { DenialCode } from '@purser/wire/policy'
import type { SessionKind } from '@purser/wire/console/session'

import type { ApprovalDecision, Increase } from '../../domain/approval.ts'
import type { Limit, Tally } from '../../domain/limits.ts'
import type { MicroUsdc } from '../../domain/money.ts'
import type { PolicyDenial } from '../../domain/policy.ts'
import type { ApprovalTerms, Metadata } from '../../domain/records.ts'
import { activityDimensions, type ActivityPart } from './activity.ts'
import { columnOf, declaredTables, nullable, table, tenantTable, type Table, type TableRow } from './table.ts'

const { id, text, oneOf, openText, micro, integer, json, bytes } = columnOf

const environment = oneOf('sandbox', 'production')

// Every table of the ledger. The order is the lock order: agents before their mandates, mandates before their budgets and
// payments.

export const accounts = table(
  'accounts',
  ['id'],
  {
    id: id('account'),
    name: text(),
    email: text(),
    idpUserId: text(),
    createdAtMs: integer(),
    disabledAtMs: nullable(integer()),
    /** How many working keys of owners and operators there are: the last one cannot be revoked. */
    ownerKeys: integer(),
    /** How far the clock of its sandbox is ahead; null if it was never advanced. It never goes back. */
    clockOffsetMs: nullable(integer()),
  },
  { isRechecked: true },
)

/** The account of each identity provider user. */
export const identities = table('identities', ['idpUserId'], {
  idpUserId: text(),
  accountId: id('account'),
})

/** The key with a hash. */
export const keyHashes = table('key_hashes', ['secretHash'], {
  secretHash: bytes(),
  accountId: id('account'),
  keyId: id('apiKey'),
})

/** The account of each agent. */
export const agentAccounts = table('agent_accounts', ['agentId'], {
  agentId: id('agent'),
  accountId: id('account'),
})

/** The account of each mandate. */
export const mandateAccounts = table('mandate_accounts', ['mandateId'], {
  mandateId: id('mandate'),
  accountId: id('account'),
})

export const apiKeys = tenantTable(
  'api_keys',
  ['id'],
  {
    id: id('apiKey'),
    environment,
    role: oneOf('operator', 'owner', 'approver', 'agent', 'merchant'),
    agentId: nullable(id('agent')),
    label: nullable(text()),
    hint: text(),
    secretHash: bytes(),
    createdAtMs: integer(),
    revokedAtMs: nullable(integer()),
  },
  { checks: ["(role = 'agent') = (agent_id is not null)"], isRechecked: true },
)

/** When a key was last used, as far as services have recorded it. */
export const keyUses = tenantTable('key_uses', ['keyId'], {
  keyId: id('apiKey'),
  usedAtMs: integer(),
})

export const sessions = tenantTable(
  'sessions',
  ['tokenHash'],
  {
    /** The SHA-256 of the token. */
    tokenHash: bytes(),
    id: id('session'),
    kind: openText<SessionKind | 'set_up_link'>(),
    role: oneOf('operator', 'owner', 'approver'),
    keyId: nullable(id('apiKey')),
    /** The only visible environment; null for both. */
    environment: nullable(environment),
    createdAtMs: integer(),
    usedAtMs: integer(),
    endsAtMs: integer(),
  },
  { indexes: [['endsAtMs'], ['id', 'endsAtMs']] },
)

/** The last stop of all agents in a scope, or its undo. */
export const stops = tenantTable(
  'stops',
  ['environment'],
  {
    environment,
    /** How many stops there were. */
    presses: integer(),
    /** The last stop. */
    stopId: id('stop'),
    /** The last stop that was undone. */
    undonePress: integer(),
  },
  { isRechecked: true },
)

/** Stops that have not paused every mandate yet. */
export const runningStops = tenantTable('running_stops', ['environment'], {
  environment,
  press: integer(),
  stopId: id('stop'),
  /** Who started it: a key, or a console session. */
  actor: text(),
  /** When a service should continue it. */
  tryAtMs: integer(),
})

export const agents = tenantTable(
  'agents',
  ['id'],
  {
    id: id('agent'),
    environment,
    name: text(),
    description: nullable(text()),
    capabilities: json<readonly string[]>(),
    status: oneOf('active', 'revoked'),
    /** The shared budget of its mandates and the budgets above it, nearest first; null for none. */
    budgetPath: nullable(json<readonly string[]>()),
    /** When open payments last ended below budgets that it has left; 0 for never. Each time it grows. */
    endedAtMs: integer(),
    createdAtMs: integer(),
    revokedAtMs: nullable(integer()),
  },
  { isRechecked: true },
)

export const mandates = tenantTable(
  'mandates',
  ['id'],
  {
    id: id('mandate'),
    environment,
    agentId: id('agent'),
    purpose: text(),
    maxTotalText: text(),
    maxTotalMicro: micro<MicroUsdc>(),
    maxPerTransactionText: text(),
    maxPerTransactionMicro: micro<MicroUsdc>(),
    currency: oneOf('USDC'),
    allowedSellers: json<readonly string[]>(),
    allowedCategories: json<readonly string[]>(),
    expiresAtText: text(),
    expiresAtMs: integer(),
    allowedResources: nullable(json<readonly string[]>()),
    categoryCheck: nullable(oneOf('enforced')),
    metadata: nullable(json<Metadata>()),
    /** When a person must approve a payment; null: never. */
    approval: nullable(json<ApprovalTerms>()),
    status: oneOf('active', 'paused', 'revoked'),
    /** The stop that has paused it, until its status changes in another way. */
    stoppedBy: nullable(id('stop')),
    /** How many open payments that stop has ended. */
    stoppedPayments: integer(),
    /** The version of its terms, from 1. */
    version: integer(),
    /** Incremented whenever all open payments end at once: a payment of an earlier epoch cannot be captured. */
    epoch: integer(),
    spentMicro: micro<MicroUsdc>(),
    /** What the open payments of this epoch hold, including expired ones until they are released. */
    heldMicro: micro<MicroUsdc>(),
    /** The number of payments that hold it. */
    openPayments: integer(),
    /** What authorized payments of any epoch may still charge, including overdue ones until they are released. */
    authorizedMicro: micro<MicroUsdc>(),
    /** The number of authorized payments. */
    authorizedPayments: integer(),
    /** How long a merchant may take to capture an authorized payment. */
    maxCaptureSeconds: integer(),
    /** No open payment expires up to this time, which may be in the future. */
    releasedUntilMs: integer(),
    /** The minute of the last denied proof, and the number of denials in it. */
    denialsFromMs: integer(),
    denials: integer(),
    /** The start of the last minute with more denials than are recorded; null if there was none. */
    fullMinuteMs: nullable(integer()),
    /** Null for none: then nothing is counted. */
    limits: nullable(json<readonly Limit[]>()),
    /** Its shared budget and the budgets above it, nearest first; null for none. */
    budgetPath: nullable(json<readonly string[]>()),
    /** What its payments count in limits; null if nothing was ever counted. */
    usage: nullable(json<MandateUsage>()),
    createdAtMs: integer(),
    updatedAtMs: integer(),
  },
  {
    indexes: [
      ['agentId', 'id'],
      ['environment', 'id'],
    ],
    // The database itself prevents overspending.
    checks: [
      'spent_micro >= 0',
      'held_micro >= 0',
      'authorized_micro >= 0',
      'spent_micro + held_micro + authorized_micro <= max_total_micro',
      'open_payments >= 0',
      'version >= 1',
      'authorized_payments >= 0',
    ],
  },
)

/** What the payments of a mandate count in limits. `bookings.ts` changes it. */
export interface MandateUsage {
  /** When the last payment was booked: the next one is booked no earlier. */
  readonly bookedAtMs: number
  /** What counts in its own limits, except for those `per` subject. */
  readonly counted: Tally
  /** The part of it that belongs to open payments. */
  readonly open: Tally
  /** For each budget that open payments count in: their part, and the epoch of the budget when they were booked. */
  readonly budgets: Readonly<Record<string, { readonly epoch: number; readonly open: Tally }>>
  /** The period in which each limit was last reported as exceeded. */
  readonly reported?: Reported | undefined
  /** How far ahead of its own clock a service has booked a payment at most, if by more than clocks usually differ. */
  readonly aheadMs?: number | undefined
}

/** By limit id, the number of a period. */
export type Reported = Readonly<Record<string, number>>

/** What the payments of a mandate to one seller, or for one resource, count in its limits `per` subject. */
export const subjectUsage = tenantTable('subject_usage', ['mandateId', 'subject'], {
  mandateId: id('mandate'),
  /** As `subjectsOf` names it. */
  subject: text(),
  /** The epoch of the mandate that `open` is of: it has ended if the mandate's is later. */
  epoch: integer(),
  counted: json<Tally>(),
  open: json<Tally>(),
})

/** Budgets that mandates share. What payments change is in `budgetUsage`, so that looking at a budget conflicts with none. */
export const budgets = tenantTable(
  'budgets',
  ['id'],
  {
    id: id('budget'),
    environment,
    name: text(),
    parentId: nullable(id('budget')),
    /** The parent and the budgets above it, nearest first. They never change. */
    ancestors: json<readonly string[]>(),
    limits: json<readonly Limit[]>(),
    /** Incremented whenever all open payments below it end at once. */
    epoch: integer(),
    /** When that happened last, or a freeze of it ended. */
    endedAtMs: nullable(integer()),
    frozenAtMs: nullable(integer()),
    version: integer(),
    createdAtMs: integer(),
    updatedAtMs: integer(),
  },
  { indexes: [['environment', 'id']], isRechecked: true },
)

/** What the payments below a budget count in its limits. */
export const budgetUsage = tenantTable('budget_usage', ['budgetId'], {
  budgetId: id('budget'),
  /** When the last payment was booked: the next one is booked no earlier. */
  bookedAtMs: integer(),
  counted: json<Tally>(),
  /** The period in which each limit was last reported as exceeded; null for none. */
  reported: nullable(json<Reported>()),
})

/** The versions of a mandate's terms. A mandate that was never amended has none here. */
export const mandateVersions = tenantTable('mandate_versions', ['mandateId', 'version'], {
  mandateId: id('mandate'),
  version: integer(),
  terms: json<MandateTerms>(),
  /** Who made the amendment; null for the first version. */
  changedBy: nullable(text()),
  createdAtMs: integer(),
})

/** What people are asked to decide. The mandate is locked before a row changes. */
export const approvals = tenantTable(
  'approvals',
  ['id'],
  {
    id: id('approval'),
    environment,
    kind: oneOf('payment', 'increase'),
    /** See `approvalStatusAt`. */
    status: oneOf('pending', 'approved', 'denied', 'consumed'),
    agentId: id('agent'),
    mandateId: id('mandate'),
    mandateVersion: integer(),
    /** Null for an increase. */
    amountText: nullable(text()),
    amountMicro: nullable(micro<MicroUsdc>()),
    resourceUrl: nullable(text()),
    reasonCode: openText<ApprovalReason>(),
    limitId: nullable(text()),
    message: nullable(text()),
    change: nullable(json<Increase>()),
    /** A key, or a console session; and the person behind it. */
    requestedBy: text(),
    requester: text(),
    requestedAtMs: integer(),
    expiresAtMs: integer(),
    required: integer(),
    decisions: json<readonly ApprovalDecision[]>(),
    /** The payment that has used it. */
    nonce: nullable(id('nonce')),
  },
  {
    indexes: [
      ['environment', 'id'],
      ['mandateId', 'id'],
      ['agentId', 'id'],
    ],
    checks: ["(kind = 'payment') = (amount_micro is not null)"],
  },
)

/** The approvals of a mandate that still answer the same question, and some that have expired since. */
export const openApprovals = tenantTable('open_approvals', ['mandateId', 'id'], {
  mandateId: id('mandate'),
  id: id('approval'),
  environment,
  status: oneOf('pending', 'approved', 'denied'),
  /** What is requested: the URL of a resource, or an increase. */
  question: text(),
  /** Null for an increase. */
  amountMicro: nullable(micro<MicroUsdc>()),
  expiresAtMs: integer(),
})

/** The sellers that need no approval of a first purchase, under mandates that ask for it. */
export const knownSellers = tenantTable('known_sellers', ['mandateId', 'subject'], {
  mandateId: id('mandate'),
  /** As `subjectOf` names the seller. */
  subject: text(),
  /** Payments, one of which must be captured or still may be; null once one was. */
  nonces: nullable(json<readonly string[]>()),
})

/** The account registered under a domain. */
export const sellerDomains = table(
  'seller_domains',
  ['environment', 'domain'],
  {
    environment,
    domain: text(),
    accountId: id('account'),
    sellerId: id('seller'),
  },
  { isRechecked: true },
)

export const sellers = tenantTable(
  'sellers',
  ['id'],
  {
    id: id('seller'),
    environment,
    name: text(),
    domain: text(),
    priceConfig: text(),
    createdAtMs: integer(),
  },
  { indexes: [['environment', 'domain', 'id']] },
)

/** One row per payment, from its proof on. Its mandate is locked before it changes. */
export const payments = tenantTable(
  'payments',
  ['nonce'],
  {
    nonce: id('nonce'),
    environment,
    agentId: id('agent'),
    mandateId: id('mandate'),
    amountText: text(),
    amountMicro: micro<MicroUsdc>(),
    currency: oneOf('USDC'),
    resourceUrl: text(),
    /** `open` is valid only in the epoch of the mandate: see `statusOf`. */
    status: oneOf('open', 'authorized', 'captured', 'expired', 'voided'),
    epoch: integer(),
    issuedAtMs: integer(),
    expiresAtMs: integer(),
    spentBeforeMicro: micro<MicroUsdc>(),
    heldBeforeMicro: micro<MicroUsdc>(),
    transactionId: nullable(id('transaction')),
    /** A key, or a console session. */
    capturedBy: nullable(text()),
    capturedAtMs: nullable(integer()),
    merchantDomain: nullable(text()),
    idempotencyKey: nullable(text()),
    sellerAccountId: nullable(id('account')),
    sellerId: nullable(id('seller')),
    /** When it counts in limits; null if that is when it was issued. */
    bookedAtMs: nullable(integer()),
    /** The shared budgets that it counts in, nearest first; null for none. */
    budgetPath: nullable(json<readonly string[]>()),
    /** The agent's `endedAtMs` when it was issued, so that the agent has left those budgets before; null for 0. */
    agentEndedAtMs: nullable(integer()),
    /** The version of the mandate that admitted it; null for the first one. */
    mandateVersion: nullable(integer()),
    /** Null if the whole amount was captured, or nothing. */
    capturedMicro: nullable(micro<MicroUsdc>()),
    /** What was refunded of it; null for nothing. */
    refundedMicro: nullable(micro<MicroUsdc>()),
    /** The key that authorized it, from then on; the columns of the merchant are set with it. */
    authorizedBy: nullable(text()),
    /** The `Idempotency-Key` of the authorization. */
    authorizationKey: nullable(text()),
    captureDeadlineMs: nullable(integer()),
    /** The order that it pays; null for none. */
    orderId: nullable(text()),
    category: nullable(text()),
    metadata: nullable(json<Metadata>()),
  },
  {
    indexes: [['mandateId', 'epoch', 'expiresAtMs']],
    checks: ['amount_micro > 0', "(status = 'captured') = (transaction_id is not null)"],
  },
)

/** The authorized payments of each mandate, by their deadlines, until they end. */
export const authorizations = tenantTable('authorizations', ['mandateId', 'deadlineMs', 'nonce'], {
  mandateId: id('mandate'),
  deadlineMs: integer(),
  nonce: id('nonce'),
})

/** The latest payment of each order under a mandate. */
export const orders = tenantTable('orders', ['mandateId', 'orderId'], {
  mandateId: id('mandate'),
  orderId: text(),
  nonce: id('nonce'),
})

/** Who pays each payment that an account has authorized for a mandate of another account. */
export const authorizationPayers = tenantTable('authorization_payers', ['nonce'], {
  nonce: id('nonce'),
  payerId: id('account'),
})

/** The proof returned for a request with an `Idempotency-Key`. */
export const proofRequests = tenantTable('proof_requests', ['environment', 'callerId', 'requestKey'], {
  environment,
  /** A key, or a console session. */
  callerId: text(),
  requestKey: text(),
  nonce: id('nonce'),
  createdAtMs: integer(),
})

/** The record created for a request with an `Idempotency-Key`. */
export const creations = tenantTable('creations', ['environment', 'kind', 'requestKey'], {
  environment,
  kind: oneOf('mandate', 'budget'),
  requestKey: text(),
  /** What was requested, so that another request with the key is not taken for a retry. */
  requestHash: text(),
  recordId: text(),
  createdAtMs: integer(),
})

/** The number of denied proofs without a mandate of their scope, by minute. */
export const strayDenials = tenantTable('stray_denials', ['environment'], {
  environment,
  denialsFromMs: integer(),
  denials: integer(),
  fullMinuteMs: nullable(integer()),
})

/** What can refuse a payment in addition to the terms of its mandate. */
export type RefusedBy = Pick<PolicyDenial, 'limit' | 'budget' | 'reason'>

/** Policy decisions that moved no money: every evaluation, and denied proofs. */
export const evaluations = tenantTable('evaluations', ['id'], {
  id: id('transaction'),
  environment,
  subject: oneOf('transaction', 'proof'),
  /** As requested: it may be unknown. */
  agentId: text(),
  mandateId: text(),
  amountText: text(),
  amountMicro: micro<MicroUsdc>(),
  currency: oneOf('USDC'),
  resourceUrl: text(),
  /** For a proof, which names no seller, the host of its resource. */
  merchantDomain: nullable(text()),
  sellerAccountId: nullable(id('account')),
  sellerId: nullable(id('seller')),
  category: nullable(text()),
  /** Null if it was approved. */
  reasonCode: nullable(openText<DenialCode>()),
  reasonDetail: nullable(text()),
  failedCheck: nullable(integer()),
  /** What checks 10 to 12 refuse; null for the others. */
  refusedBy: nullable(json<RefusedBy>()),
  /** The shared budgets that were checked, nearest first; null for none. */
  budgetPath: nullable(json<readonly string[]>()),
  spentBeforeMicro: nullable(micro<MicroUsdc>()),
  /** Null if the agent has no such mandate. */
  mandateVersion: nullable(integer()),
  metadata: nullable(json<Metadata>()),
  createdAtMs: integer(),
})

/**
 * Evaluations that name an agent, but no mandate of it; others are found by their mandate. The agent may be unknown.
 */
export const strayEvaluations = tenantTable('stray_evaluations', ['agentId', 'id'], {
  agentId: text(),
  id: id('transaction'),
})

/** Refunds of payments, in each account that they concern. Rows are added and never changed. */
export const refunds = tenantTable(
  'refunds',
  ['id'],
  {
    /** The id of the transaction, which is the same in both accounts. */
    id: id('transaction'),
    environment,
    payerId: id('account'),
    nonce: id('nonce'),
    amountText: text(),
    amountMicro: micro<MicroUsdc>(),
    reason: nullable(text()),
    /** A key, or a console session. */
    refundedBy: text(),
    idempotencyKey: text(),
    createdAtMs: integer(),
  },
  { indexes: [['nonce', 'id']], checks: ['amount_micro > 0'] },
)

/** The journal: what happened, in each account that it concerns. Rows are added and never changed. */
export const entries = tenantTable(
  'entries',
  ['id'],
  {
    /** The id of the transaction. */
    id: id('transaction'),
    environment,
    /** `more_denied` counts the denied proofs of a minute without their own entries. */
    kind: oneOf('approved', 'denied', 'paid', 'received', 'refunded', 'refund_sent', 'more_denied'),
    /** The account of the payment or the evaluation. */
    payerId: id('account'),
    /** The nonce of a payment; null for an evaluation, which has the id of the entry. */
    nonce: nullable(id('nonce')),
    /** Null for an evaluation without a mandate of the account. */
    mandateId: nullable(id('mandate')),
    amountMicro: micro<MicroUsdc>(),
    /** How many it represents: 1, except for `more_denied`. */
    count: integer(),
    /** For `more_denied`, the start of the minute. */
    atMs: integer(),
  },
  { indexes: [['mandateId', 'id']] },
)

/** What batches of entries add to the console's sums, one row each, until added up. */
export const activityParts = tenantTable('activity_parts', ['id'], {
  /** The id of one of the entries. */
  id: id('transaction'),
  parts: json<readonly ActivityPart[]>(),
})

/** Who was paid under a mandate, at any time; without the parts in `activityParts`. */
export const paidSellers = tenantTable(
  'paid_sellers',
  ['mandateId', 'merchantDomain'],
  {
    mandateId: id('mandate'),
    merchantDomain: text(),
  },
  { isAddedUp: true },
)

/** The console's sums, by quarter of an hour; without the parts in `activityParts`. */
export const activity = tenantTable(
  'activity',
  ['environment', 'dimension', 'subject', 'startsAtMs'],
  {
    environment,
    dimension: oneOf(...activityDimensions),
    /** A mandate, a reason or a domain; empty for all. */
    subject: text(),
    /** The quarter of an hour; for sellers the day, and 0 for their totals. */
    startsAtMs: integer(),
    paidCount: integer(),
    /** An amount in millionths: the bits beyond 32, and the lower 32. As both are added up, the lower one may grow beyond 32. */
    paidHigh: micro<bigint>(),
    paidLow: micro<bigint>(),
    approvedCount: integer(),
    deniedCount: integer(),
    refundedCount: integer(),
    refundedHigh: micro<bigint>(),
    refundedLow: micro<bigint>(),
  },
  { isAddedUp: true },
)

/** Failed verifications, which leave no entry, by quarter of an hour. */
export const refusals = tenantTable('refusals', ['environment', 'subject', 'reason', 'startsAtMs'], {
  environment,
  /** The merchant's domain. */
  subject: text(),
  reason: openText<VerificationFailure>(),
  startsAtMs: integer(),
  count: integer(),
  /** The last call of each process that has added to it. */
  addedBy: json<Readonly<Record<string, string>>>(),
})

export const auditEvents = tenantTable(
  'audit_events',
  ['id'],
  {
    id: id('auditEvent'),
    environment,
    type: openText<AuditEventType>(),
    actor: text(),
    subjectId: text(),
    data: json<Readonly<Record<string, unknown>>>(),
    createdAtMs: integer(),
  },
  {
    indexes: [
      ['subjectId', 'id'],
      ['type', 'id'],
    ],
  },
)

/** Every table, in lock order. */
export const allTables: readonly Table[] = declaredTables

export type SessionRow = TableRow<typeof sessions>
export type ApiKeyRow = TableRow<typeof apiKeys>
export type KeyUseRow = TableRow<typeof keyUses>
export type RunningStop = TableRow<typeof runningStops>
export type AgentRow = TableRow<typeof agents>
export type MandateRow = TableRow<typeof mandates>
export type SubjectUsageRow = TableRow<typeof subjectUsage>
export type BudgetRow = TableRow<typeof budgets>
export type BudgetUsageRow = TableRow<typeof budgetUsage>
export type MandateVersionRow = TableRow<typeof mandateVersions>
export type ApprovalRow = TableRow<typeof approvals>
export type OpenApprovalRow = TableRow<typeof openApprovals>
export type PaymentRow = TableRow<typeof payments>
export type StrayDenialRow = TableRow<typeof strayDenials>
export type EvaluationRow = TableRow<typeof evaluations>
export type RefundRow = TableRow<typeof refunds>
export type RefusalRow = TableRow<typeof refusals>
export type EntryRow = TableRow<typeof entries>
export type ActivityPartsRow = TableRow<typeof activityParts>
export type ActivityRow = TableRow<typeof activity>
