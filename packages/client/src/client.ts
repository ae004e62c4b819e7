/** The exports of `@purser/client`. */
export { addAmounts, compareAmounts, formatAmount, isAmount, sameAmount, subtractAmounts } from './amounts.ts'
export * from './errors.ts'
export { hostNameOf, isHostOrParent } from './host-names.ts'
export type { List, Page } from './list.ts'
export type { CallOptions, PurserOptions, Sleep } from './options.ts'
export {
  awaitApproval,
  requestApprovedProof,
  type ApprovedProofOptions,
  type AwaitApprovalOptions,
} from './payment/approved-proof.ts'
export type { PaymentChallenge } from './payment/challenge.ts'
export { paymentDecisionOf, type PaymentDecision, type SkipReason } from './payment/decision.ts'
export { chargedAmountOf, paymentResultOf, type PaymentResult } from './payment/payment-result.ts'
export { readReceipt, type PaymentReceipt } from './payment/receipt.ts'
export { resumePayment, type ResumeOptions } from './payment/resume-payment.ts'
export {
  sendPaidRequest,
  type PaidAttempt,
  type PaidRequest,
  type ShownProof,
} from './payment/send-paid-request.ts'
export {
  PaidNotDeliveredError,
  PaymentNotChargedError,
  PaymentUncertainError,
  type PaymentFailure,
  type ProofFate,
} from './payment/uncertain-payment.ts'
export { PurchaseConflictError } from './payment/purchase.ts'
export {
  createPurchaseMemory,
  type KeptAnswer,
  type PurchaseMemoryOptions,
  type PurchaseRecord,
  type PurchaseSender,
  type PurchaseStep,
  type PurchaseStore,
} from './payment/purchase-store.ts'
export {
  wrapFetchWithPayment,
  type ApprovalAnswer,
  type ApprovalRequired,
  type PayingFetch,
  type PayingInit,
  type PaymentAnswer,
  type PaymentOptions,
} from './payment/wrap-fetch.ts'
export { Purser } from './purser.ts'
export { randomKey } from './random-key.ts'
export { sellerWarning } from './seller-warning.ts'
export type { HealthReport } from './resources/health.ts'
export type { ApprovalNote, ApprovalsQuery } from './resources/approvals.ts'
export type { IdempotentOptions } from './send-once.ts'
export type { FeedMessage, FeedOptions } from './resources/console.ts'
export type {
  AuthorizationDecision,
  Capture,
  ProofDecision,
  ProofOptions,
  Verification,
  VerifyOptions,
} from './resources/payments.ts'
export type { Evaluate, RecordedDecision } from './resources/policy.ts'
export type * from './wire-types.ts'
