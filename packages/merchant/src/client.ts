import type { Purser } from '@purser/client'

/** What is used of `@purser/client`: hand in a `Purser` with a key of the role `merchant`. */
export type PaymentClient = Pick<Purser, 'verifyAgent'> & {
  readonly payments: Pick<Purser['payments'], 'verify'>
}
