import type { Mandate } from '@purser/client'

import { amountInWords } from './amounts.ts'

type ApprovalRule = NonNullable<Mandate['approval']>

/** When a person must approve: `above 5.00 USDC, or for the first purchase from a seller`. Empty if never. */
export function approvalInWords({ above, first_purchase_at_seller, required }: ApprovalRule): string {
  const cases = [
    ...(above === null ? [] : [`above ${amountInWords(above)} USDC`]),
    ...(first_purchase_at_seller ? ['for the first purchase from a seller'] : []),
  ]
  if (cases.length === 0) return ''
  return `${cases.join(', or ')}${required > 1 ? `, by ${required} people` : ''}`
}
