import type { AuditEventType } from '@purser/wire/audit-log'
import type { Environment } from '@purser/wire/fields'
import type { VerificationFailure } from '@purser/wire/payments'
import type { DenialCode } from '@purser/wire/policy'
import { ownerRoles, type Role } from '@purser/wire/roles'

import type { RandomBytes } from '../domain/api-key.ts'
import { auditEvent } from '../domain/audit.ts'
import type { CollectionRefusal } from '../domain/collection.ts'
import type { ProofKeys } from '../domain/proof.ts'
import type { AuditEvent, Caller, Metadata, Scope } from '../domain/records.ts'
import type { DomainChallenge } from '../domain/seller-verification.ts'
import { timeIn } from '../domain/time/test-clock.ts'
import type { SiteOptions } from '../http/session-cookie.ts'
import type { Ids } from '../ids.ts'
import type { AgentFilter, Store } from '../store/store.ts'

/** The dependencies of the routes; time, ids and secrets are injected. */
export interface RouteContext {
  readonly store: Store
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly ids: Ids
  readonly randomBytes: RandomBytes
  readonly site: SiteOptions
  readonly tally: Tally
  /** Counts payment results, if metrics are enabled. */
  readonly decisions?: DecisionMeter | undefined
  readonly sellerVerification: SellerVerificationOptions
  readonly proofKeys: Readonly<Record<Environment, ProofKeys>>
}

/** Why a verification is refused before the proof is checked. */
export type VerificationRefusal = CollectionRefusal | 'invalid_api_key' | 'invalid_idempotency_key'

/** Counts payment results for metrics. Reasons are from a fixed list. */
export interface DecisionMeter {
  readonly countVerification: (
    environment: Environment,
    ...outcome:
      | ['captured' | 'authorized' | 'replayed']
      | ['failed', VerificationFailure]
      | ['refused', VerificationRefusal]
  ) => void
  readonly countProof: (
    environment: Environment,
    ...outcome:
      | ['approved' | 'replayed']
      | ['refused', 'idempotency_key_reused' | 'order_already_paid' | 'order_mismatch']
      | ['denied', DenialCode]
  ) => void
  readonly countEvaluation: (
    environment: Environment,
    ...outcome: ['approved'] | ['denied', DenialCode]
  ) => void
}

/** The configuration of domain verification. */
export interface SellerVerificationOptions {
  /** Whether a seller cannot collect until its domain is verified. */
  readonly isRequired: boolean
  /** The key for challenges. */
  readonly key: Buffer
  readonly proveDomain: (
    domain: string,
    challenge: DomainChallenge,
  ) => Promise<'proved' | { readonly missing: string }>
}

/** Counts events that are not recorded. */
export interface Tally {
  readonly countRefusal: (
    scope: Scope,
    refusal: {
      readonly subject: string
      readonly reason: VerificationFailure
    },
  ) => void
  /** Records the use of a key. */
  readonly countUse: (caller: Caller) => void
}

/**
 * The audit event of a caller's operation, in the log of the caller's scope; by default at the time of that scope. Some
 * operations add their data in the store.
 */
export function eventBy(
  { ids, now }: Pick<RouteContext, 'ids' | 'now'>,
  caller: Scope & Pick<Caller, 'keyId'>,
  type: AuditEventType,
  subjectId: string,
  {
    data = {},
    atMs = timeIn(caller, now),
  }: { readonly data?: AuditEvent['data']; readonly atMs?: number } = {},
): AuditEvent {
  return auditEvent(caller, caller, { id: ids.next('auditEvent'), type, subjectId, data, atMs })
}

/**
 * The account of a request: the caller's own, or the one that an operator specifies. Resolves to a refusal if
 * the caller may not use that account, or if it does not exist.
 */
export async function accountMeant(
  caller: Caller,
  named: string | null | undefined,
  store: Pick<Store, 'findAccount'>,
): Promise<{ readonly accountId: string } | 'insufficient_scope' | 'not_found'> {
  const accountId = named ?? caller.accountId
  if (accountId === caller.accountId) return { accountId }
  if (caller.role !== 'operator') return 'insufficient_scope'
  return (await store.findAccount({ id: accountId })) ? { accountId } : 'not_found'
}

/** The agent filter for a key that is bound to an agent; empty for other keys. */
export function ownAgentOnly(caller: Caller): AgentFilter {
  return caller.agentId === null ? {} : { agentId: caller.agentId }
}

/** Whether the caller may act for the agent: a key bound to one agent may not act for another. */
export function speaksFor(caller: Caller, agentId: string): boolean {
  return caller.agentId === null || caller.agentId === agentId
}

/** Whether the caller may do everything within its account. */
export function isOwner({ role }: Pick<Caller, 'role'>): boolean {
  return (ownerRoles as readonly Role[]).includes(role)
}

/** The metadata of a request; null if there is none. */
export function metadataOf({ metadata }: { readonly metadata?: Metadata | undefined }): Metadata | null {
  return metadata && Object.keys(metadata).length > 0 ? metadata : null
}

/** A time in interface format. */
export function toTimestamp(ms: number): string {
  return new Date(ms).toISOString()
}

/** A nullable time in interface format. */
export function toNullableTimestamp(ms: number | null): string | null {
  return ms === null ? null : toTimestamp(ms)
}
