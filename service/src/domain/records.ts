import type { AgentStatus } from '@purser/wire/agents'
import type { Role } from '@purser/wire/roles'
import type { AuditEventType } from '@purser/wire/audit-log'
import type { Currency, Environment } from '@purser/wire/fields'
import type { MandateStatus } from '@purser/wire/mandates'
import type { ProofStatus } from '@purser/wire/payments'
import type { DenialCode } from '@purser/wire/policy'
import type { TransactionStatus } from '@purser/wire/transactions'

import type { MicroUsdc } from './money.ts'

/** The tenant and the world that a record belongs to; every query carries it. */
export interface Scope {
  readonly accountId: string
  readonly environment: Environment
}

/** Who acts: a key, with its scope and what it may do. */
export interface Caller extends Scope {
  readonly keyId: string
  readonly role: Role
  /** The one agent that a key of the role `agent` speaks for. */
  readonly agentId: string | null
}

/**
 * The `idp_user_id` of the account that a first start makes. Everybody can know it, so no identity provider can
 * vouch for it: nobody but the holders of its keys gets into that account.
 */
export const firstUserId = 'first-account'

export interface Account {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly idpUserId: string
  readonly createdAtMs: number
  /** Since when nothing is done in its name; null while it is active. */
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
  readonly createdAtMs: number
  readonly revokedAtMs: number | null
}

export interface Mandate extends Scope {
  readonly id: string
  readonly agentId: string
  readonly purpose: string
  readonly maxTotalText: string
  readonly maxTotalMicro: MicroUsdc
  readonly maxPerTransactionText: string
  readonly maxPerTransactionMicro: MicroUsdc
  readonly currency: Currency
  readonly allowedSellers: readonly string[]
  readonly allowedCategories: readonly string[]
  readonly expiresAtText: string
  readonly expiresAtMs: number
  readonly status: MandateStatus
  readonly spentMicro: MicroUsdc
  readonly heldMicro: MicroUsdc
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export interface Seller extends Scope {
  readonly id: string
  readonly name: string
  readonly domain: string
  /** A JSON object as it came. */
  readonly priceConfig: string
  readonly createdAtMs: number
}

/** A seller, and whether it still has to show that its domain is its own. */
export interface ListedSeller extends Seller {
  readonly isPending: boolean
}

/** What of a mandate says who may collect a payment under it. */
export type CollectedMandate = Pick<Mandate, 'accountId' | 'allowedSellers'>

/** Who is registered under a domain, which is all that a payment needs to know of a seller. */
export type RegisteredSeller = Pick<Seller, 'accountId' | 'id'>

/** The amount that an issued proof keeps free for itself until it is captured or ends. */
export interface Hold extends Scope {
  readonly nonce: string
  readonly agentId: string
  readonly mandateId: string
  readonly amountText: string
  readonly amountMicro: MicroUsdc
  readonly currency: Currency
  readonly resourceUrl: string
  readonly status: ProofStatus
  readonly issuedAtMs: number
  /** When the hold ends: the validity window and a minute of grace after the proof's timestamp. */
  readonly expiresAtMs: number
  readonly transactionId: string | null
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
  readonly reasonDetail: string | null
  readonly createdAtMs: number
}

export interface AuditEvent extends Scope {
  readonly id: string
  readonly type: AuditEventType
  /** The id of the key or the session that acted, or `system`. */
  readonly actor: string
  readonly subjectId: string
  readonly data: Readonly<Record<string, unknown>>
  readonly createdAtMs: number
}
