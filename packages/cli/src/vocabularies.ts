import type { ApprovalStatus, AuditEventType, Environment, Role, TransactionStatus } from '@purser/client'

// The interface's vocabularies for options and completion; a test compares them with packages/wire.

export const environments = ['sandbox', 'production'] as const satisfies readonly Environment[]

export const roles = ['operator', 'owner', 'approver', 'agent', 'merchant'] as const satisfies readonly Role[]

export const approvalStatuses = [
  'pending',
  'approved',
  'denied',
  'expired',
  'consumed',
] as const satisfies readonly ApprovalStatus[]

export const transactionStatuses = [
  'pending',
  'approved',
  'denied',
  'paid',
  'refunded',
] as const satisfies readonly TransactionStatus[]

export const auditEventTypes = [
  'payment.verified',
  'payment.authorized',
  'payment.refunded',
  'authorization.voided',
  'account.created',
  'account.disabled',
  'account.enabled',
  'api_key.created',
  'api_key.revoked',
  'agent.created',
  'agent.revoked',
  'mandate.created',
  'mandate.amended',
  'approval.requested',
  'approval.approved',
  'approval.denied',
  'approval.consumed',
  'mandate.paused',
  'mandate.resumed',
  'mandate.revoked',
  'limit.exceeded',
  'budget.created',
  'budget.changed',
  'budget.frozen',
  'budget.unfrozen',
  'agent.budget_changed',
  'seller.created',
  'seller.released',
  'seller.verified',
  'proof.voided',
  'proofs.voided',
  'agents.stopped',
  'agents.resumed',
  'test_clock.advanced',
  'session.started',
  'session.ended',
] as const satisfies readonly AuditEventType[]
