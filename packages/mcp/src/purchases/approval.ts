import type { Mandate } from '@purser/client'

import type { Reason } from '../reason.ts'
import type { Order } from './order.ts'
import type { Bill } from './purchase-records.ts'

/** What a person decides about. The bill is the merchant's price, within the model's limit. */
export interface ApprovalQuestion {
  readonly order: Order
  readonly bill: Bill
  readonly mandate: Mandate
}

/** Decides who approves purchases, before anything is recorded or held. */
export interface Approval {
  readonly isNeeded: (bill: Bill) => boolean
  /** Why the purchase is not approved, or undefined if it is. */
  readonly ask: (question: ApprovalQuestion) => Reason | undefined
}
