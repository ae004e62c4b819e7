import type { Purser } from '@purser/client'

/**
 * The used part of `@purser/client`: pass a `Purser` with a key with the role `merchant`. Only `verify` is needed
 * unless payments are captured after the handler or refunded.
 */
export type PaymentClient = Pick<Purser, 'verifyAgent'> & {
  readonly payments: Pick<Purser['payments'], 'verify'> &
    Partial<Pick<Purser['payments'], 'authorize' | 'capture' | 'void'>>
  readonly transactions?: Pick<Purser['transactions'], 'refund'>
}

/** A client that can charge in two steps. */
export type CapturingClient = Pick<Purser, 'verifyAgent'> & {
  readonly payments: Pick<Purser['payments'], 'verify' | 'authorize' | 'capture' | 'void'>
}

/** Whether a client can charge in two steps. */
export function canCapture(client: Partial<PaymentClient> | undefined): client is CapturingClient {
  const { authorize, capture, void: release } = client?.payments ?? {}
  return [authorize, capture, release].every((method) => typeof method === 'function')
}
