/** What `@purser/client` gives. */
export * from './errors.ts'
export type { List, Page } from './list.ts'
export type { CallOptions, PurserOptions, Sleep } from './options.ts'
export { Purser } from './purser.ts'
export type { HealthReport } from './resources/health.ts'
export type { ProofDecision, Verification, VerifyOptions } from './resources/payments.ts'
export type * from './wire-types.ts'
