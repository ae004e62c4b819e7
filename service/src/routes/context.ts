import type { Environment } from '@purser/wire/fields'
import type { VerificationFailure } from '@purser/wire/payments'
import type { DenialCode } from '@purser/wire/policy'

import type { RandomBytes } from '../domain/api-key.ts'
import type { ProofKeys } from '../domain/proof.ts'
import type { Caller, Scope } from '../domain/records.ts'
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
  readonly proofKeys: Readonly<Record<Environment, ProofKeys>>
}

/** Counts what leaves no record of its own. */
export interface Tally {
  readonly countRefusal: (
    scope: Scope,
    refusal:
      | { readonly kind: 'proof'; readonly subject: ''; readonly reason: DenialCode }
      | { readonly kind: 'verification'; readonly subject: string; readonly reason: VerificationFailure },
  ) => void
  /** Takes note that a key was used. */
  readonly countUse: (caller: Caller) => void
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
