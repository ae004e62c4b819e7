import type { DenialCode, VerificationFailure } from '@purser/client'

/** The display text of each denial code. */
export const denialWords: Record<DenialCode, string> = {
  agent_revoked: 'Agent revoked or unknown',
  mandate_expired: 'Mandate expired, paused or revoked',
  merchant_not_allowed: 'Seller or category not allowed',
  resource_not_allowed: 'URL not allowed',
  amount_exceeds_per_transaction_limit: 'Over the cap per payment',
  total_budget_exceeded: 'Over the total budget',
  velocity_limit_exceeded: 'Over a limit',
  shared_budget_exceeded: 'Over a shared budget',
  budget_frozen: 'Shared budget frozen',
  approval_required: 'Approval required',
}

/** The display text of each verification failure. */
export const failureWords: Record<VerificationFailure, string> = {
  proof_expired: 'Proof too old, or stopped',
  amount_mismatch: 'Amount or currency differs',
  invalid_signature: 'Signature does not match',
  nonce_reused: 'Proof used before',
}

/** The display text of a reason code; an unknown code is shown unchanged. */
export function reasonInWords(code: string | null): string {
  if (code === null) return ''
  return code in denialWords ? denialWords[code as DenialCode] : code.replaceAll('_', ' ')
}
