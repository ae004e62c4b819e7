import type { Caller, Scope } from '../records.ts'

/** How far a test clock may be ahead in all: ten years, leap days included. */
export const maxClockOffsetMs = 3_653 * 24 * 3_600_000

/** How far the clock of a scope is ahead: only a sandbox has a test clock. */
export function clockOffsetOf(
  account: { readonly clockOffsetMs?: number | null } | undefined,
  environment: Scope['environment'],
): number {
  return environment === 'sandbox' ? (account?.clockOffsetMs ?? 0) : 0
}

/** A caller with the test clock of its account. */
export function withClock(caller: Caller, account: { readonly clockOffsetMs?: number | null }): Caller {
  const clockOffsetMs = clockOffsetOf(account, caller.environment)
  return clockOffsetMs === 0 ? caller : { ...caller, clockOffsetMs }
}

/** The time in a scope, in milliseconds since 1970. */
export function timeIn({ clockOffsetMs = 0 }: Pick<Scope, 'clockOffsetMs'>, now: () => number): number {
  return now() + clockOffsetMs
}
