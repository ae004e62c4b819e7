import type { Environment } from '@purser/wire/fields'
import type { VerificationFailure } from '@purser/wire/payments'
import type { DenialCode } from '@purser/wire/policy'

import type { RandomBytes } from '../domain/api-key.ts'
import type { CollectionRefusal } from '../domain/collection.ts'
import type { ProofKeys } from '../domain/proof.ts'
import type { Caller, Scope } from '../domain/records.ts'
import type { DomainChallenge } from '../domain/seller-verification.ts'
import type { SiteOptions } from '../http/session-cookie.ts'
import type { Ids } from '../ids.ts'
import type { AgentFilter, Store } from '../store/store.ts'

/** What the routes work with; time, ids and secrets come from outside. */
export interface RouteContext {
  readonly store: Store
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly ids: Ids
  readonly randomBytes: RandomBytes
  readonly site: SiteOptions
  readonly tally: Tally
  /** Counts what payments come to, where that is measured. */
  readonly decisions?: DecisionMeter | undefined
  readonly sellerVerification: SellerVerificationOptions
  readonly proofKeys: Readonly<Record<Environment, ProofKeys>>
}

/** Why a verification is refused before it says anything about the proof. */
export type VerificationRefusal = CollectionRefusal | 'invalid_api_key' | 'invalid_idempotency_key'

/** Counts what payments come to, for the metrics of the service. Reasons are words of a fixed list. */
export interface DecisionMeter {
  readonly countVerification: (
    environment: Environment,
    ...outcome: ['captured' | 'replayed'] | ['failed', VerificationFailure] | ['refused', VerificationRefusal]
  ) => void
  readonly countProof: (
    environment: Environment,
    ...outcome: ['approved' | 'replayed'] | ['refused', 'idempotency_key_reused'] | ['denied', DenialCode]
  ) => void
  readonly countEvaluation: (
    environment: Environment,
    ...outcome: ['approved'] | ['denied', DenialCode]
  ) => void
}

/** How sellers show that their domains are their own. */
export interface SellerVerificationOptions {
  /** Whether a seller collects nothing until it has. */
  readonly isRequired: boolean
  /** What challenges are made with. */
  readonly key: Buffer
  readonly proveDomain: (
    domain: string,
    challenge: DomainChallenge,
  ) => Promise<'proved' | { readonly missing: string }>
}

/** Counts what leaves no record of its own. */
export interface Tally {
  readonly countRefusal: (
    scope: Scope,
    refusal: {
      readonly kind: 'verification'
      readonly subject: string
      readonly reason: VerificationFailure
    },
  ) => void
  /** Takes note that a key was used. */
  readonly countUse: (caller: Caller) => void
}

/**
 * The account that a request is about: the caller's own, or for an operator the one that it names. Resolves to the
 * refusal where the caller may not name that account, or there is none.
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

/** What a key that speaks for one agent is limited to; nothing for any other. */
export function ownAgentOnly(caller: Caller): AgentFilter {
  return caller.agentId === null ? {} : { agentId: caller.agentId }
}

/** Whether the caller may act for the agent: a key that is bound to one agent may not for another. */
export function speaksFor(caller: Caller, agentId: string): boolean {
  return caller.agentId === null || caller.agentId === agentId
}

/** A time as the interface writes it. */
export function toTimestamp(ms: number): string {
  return new Date(ms).toISOString()
}

/** A time that may not have come. */
export function toNullableTimestamp(ms: number | null): string | null {
  return ms === null ? null : toTimestamp(ms)
}
