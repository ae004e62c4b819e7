import type { Purser } from '@purser/client'

/** The used part of `@purser/client`: pass a `Purser` with a key with the role `merchant`. */
export type PaymentClient = Pick<Purser, 'verifyAgent'> & {
  readonly payments: Pick<Purser['payments'], 'verify'>
}
