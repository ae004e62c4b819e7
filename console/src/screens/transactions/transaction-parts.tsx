import type { NamedTransaction } from '@purser/client'

import { Amount } from '../../ui/amount.tsx'

/** The amount of a transaction. Only payments and refunds moved money; a refund moved it back. */
export function TransactionAmount({
  of: { amount, currency, status },
}: {
  readonly of: Pick<NamedTransaction, 'amount' | 'currency' | 'status'>
}) {
  return (
    <Amount
      value={status === 'refunded' ? `-${amount}` : amount}
      currency={currency}
      isQuiet={status !== 'paid' && status !== 'refunded'}
    />
  )
}

/** Who is named for a transaction without an agent of this account. */
export function otherPayer({ status }: Pick<NamedTransaction, 'status'>): string {
  return status === 'denied' ? 'unknown agent' : 'from another account'
}
