import type { AgentStatus } from '@purser/wire/agents'
import type { Role } from '@purser/wire/roles'
import type { AuditEventType } from '@purser/wire/audit-log'
import type { Currency, Environment } from '@purser/wire/fields'
import type { CategoryCheck, MandateStatus } from '@purser/wire/mandates'
import type { ProofStatus } from '@purser/wire/payments'
import type { DenialCode } from '@purser/wire/policy'
import type { TransactionStatus } from '@purser/wire/transactions'

import type { Limit } from './limits.ts'
import type { MicroUsdc } from './money.ts'

/** The account and environment of a record; part of every query. */
export interface Scope {
  readonly accountId: string
  readonly environment: Environment
  /** How far the test clock is ahead, in the scope of a caller; absent if it is not. */
  readonly clockOffsetMs?: number | undefined
}

/** The caller: a key, with its scope and role. */
export interface Caller extends Scope {
  readonly keyId: string
  readonly role: Role
  /** The agent of a key with the role `agent`. */
  readonly agentId: string | null
}

/**
 * The `idp_user_id` of the account created at first start. It is public, so identity provider sign-in is
 * refused for it: only holders of its keys can access that account.
 */
export const firstUserId = 'first-account'

export interface Account {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly idpUserId: string
  readonly createdAtMs: number
  /** When it was disabled; null while it is active. */
  readonly disabledAtMs: number | null
}

export interface ApiKey extends Scope {
  readonly id: string
  readonly role: Role
  readonly agentId: string | null
  readonly label: string | null
  readonly hint: string
  readonly createdAtMs: number
  readonly revokedAtMs: number | null
}

export interface Agent extends Scope {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly capabilities: readonly string[]
  readonly status: AgentStatus
  /** The shared budget of its mandates and the budgets above it, nearest first; null for none. */
  readonly budgetPath: readonly string[] | null
  readonly createdAtMs: number
  readonly revokedAtMs: number | null
}

/** Texts that a caller keeps with a record, by name. */
export type Metadata = Readonly<Record<string, string>>

/** The same text for equal metadata, in any order. */
export function metadataText(metadata: Metadata | null): string {
  return JSON.stringify(Object.entries(metadata ?? {}).sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** When a person must approve a payment. Stored as JSON. */
export interface ApprovalTerms {
  /** A payment above this amount needs approval; null: no amount does. */
  readonly above: string | null
  readonly firstPurchaseAtSeller: boolean
  /** How many different people must approve. */
  readonly required: number
}

/** The terms of a mandate that are null unless they are used. */
export interface OptionalTerms {
  /** Patterns of allowed resource URLs; null allows every URL. */
  readonly allowedResources: readonly string[] | null
  /** Null means `advisory`. */
  readonly categoryCheck: Exclude<CategoryCheck, 'advisory'> | null
  readonly metadata: Metadata | null
  /** When a person must approve a payment; null: never. */
  readonly approval: ApprovalTerms | null
}

/** The optional terms of a mandate that uses none. */
export const noOptionalTerms: OptionalTerms = {
  allowedResources: null,
  categoryCheck: null,
  metadata: null,
  approval: null,
}

/** The terms of a mandate: what an amendment can change. */
export interface MandateTerms extends OptionalTerms {
  readonly purpose: string
  readonly maxTotalText: string
  readonly maxTotalMicro: MicroUsdc
  readonly maxPerTransactionText: string
  readonly maxPerTransactionMicro: MicroUsdc
  readonly allowedSellers: readonly string[]
  readonly allowedCategories: readonly string[]
  readonly expiresAtText: string
  readonly expiresAtMs: number
  /** Limits over time; null for none. */
  readonly limits: readonly Limit[] | null
  /** Its shared budget and the budgets above it, nearest first; null for none. */
  readonly budgetPath: readonly string[] | null
}

export interface Mandate extends Scope, MandateTerms {
  readonly id: string
  readonly agentId: string
  readonly currency: Currency
  readonly status: MandateStatus
  /** The version of its terms, from 1. */
  readonly version: number
  readonly spentMicro: MicroUsdc
  readonly heldMicro: MicroUsdc
  /** What authorized payments may still charge. */
  readonly authorizedMicro: MicroUsdc
  /** How long a merchant may take to capture an authorized payment. */
  readonly maxCaptureSeconds: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** A budget that mandates and agents share. */
export interface Budget extends Scope {
  readonly id: string
  readonly name: string
  /** The budgets above it, nearest first. */
  readonly ancestors: readonly string[]
  readonly limits: readonly Limit[]
  readonly frozenAtMs: number | null
  readonly version: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export interface Seller extends Scope {
  readonly id: string
  readonly name: string
  readonly domain: string
  /** A JSON object, unchanged. */
  readonly priceConfig: string
  readonly createdAtMs: number
}

/** A seller, and whether its domain still has to be verified. */
export interface ListedSeller extends Seller {
  readonly isPending: boolean
}

/** The fields of a mandate that determine who may collect. */
export type CollectedMandate = Pick<
  Mandate,
  'accountId' | 'allowedSellers' | 'allowedResources' | 'allowedCategories' | 'categoryCheck'
>

/** The account registered under a domain, which is all that a payment needs to know. */
export type RegisteredSeller = Pick<Seller, 'accountId' | 'id'>

/** The facts of a payment that are null unless they are used. */
export interface OptionalFacts {
  /** The category that its proof was requested with. */
  readonly category: string | null
  readonly metadata: Metadata | null
}

/** The optional facts of a payment that uses none. */
export const noOptionalFacts: OptionalFacts = { category: null, metadata: null }

/** The amount that an issued proof reserves until it is captured or ends. */
export interface Hold extends Scope, OptionalFacts {
  readonly nonce: string
  readonly agentId: string
  readonly mandateId: string
  readonly amountText: string
  readonly amountMicro: MicroUsdc
  readonly currency: Currency
  readonly resourceUrl: string
  readonly status: ProofStatus
  readonly issuedAtMs: number
  /** When the hold ends: the proof's timestamp plus the validity window and a minute of grace. */
  readonly expiresAtMs: number
  readonly transactionId: string | null
  /** What was charged, as decimal text; null if nothing was. */
  readonly capturedText?: string | null
  /** When an authorization ends; null if it was never authorized. */
  readonly captureDeadlineMs: number | null
  /** The order that it pays; null for none. */
  readonly orderId: string | null
}

export interface Transaction extends Scope {
  readonly id: string
  readonly status: TransactionStatus
  readonly agentId: string
  readonly mandateId: string
  readonly amountText: string
  readonly amountMicro: MicroUsdc
  readonly currency: Currency
  readonly resourceUrl: string
  readonly merchantDomain: string
  readonly sellerId: string | null
  readonly category: string | null
  readonly reasonCode: 'within_policy' | DenialCode | null
  /** For a refund, the reason that the seller gave. */
  readonly reasonDetail: string | null
  /** The refunded payment; null unless it is a refund. */
  readonly refundOf: string | null
  /** What was refunded of a payment so far, as text; null unless it is one. */
  readonly refundedText: string | null
  /** The order of a payment or refund; null for none. */
  readonly orderId: string | null
  /** Whether an agent of the account has paid it, or was refunded; false for decisions. */
  readonly isExpense: boolean
  /** Whether a seller of the account has collected it, or has refunded it; false for decisions. */
  readonly isRevenue: boolean
  /** The version of the mandate that was checked; null if it was not found. */
  readonly mandateVersion: number | null
  readonly metadata: Metadata | null
  readonly createdAtMs: number
}

export interface AuditEvent extends Scope {
  readonly id: string
  readonly type: AuditEventType
  /** The id of the acting key or session, or `system`. */
  readonly actor: string
  readonly subjectId: string
  readonly data: Readonly<Record<string, unknown>>
  readonly createdAtMs: number
}
