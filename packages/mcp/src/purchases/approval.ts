import type { Mandate } from '@purser/client'

import type { Reason } from '../reason.ts'
import type { Order } from './order.ts'
import type { Bill } from './purchase-records.ts'

/** What a person decides on: the bill is what the merchant asks, within what the model allowed. */
export interface ApprovalQuestion {
  readonly order: Order
  readonly bill: Bill
  readonly mandate: Mandate
}

/** Who approves purchases, before anything is recorded or held for them. */
export interface Approval {
  readonly isNeeded: (bill: Bill) => boolean
  /** Why the purchase is not approved; undefined when it is. */
  readonly ask: (question: ApprovalQuestion) => Reason | undefined
}
