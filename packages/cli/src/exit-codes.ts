/** The exit codes of `purser`. */
export const exits = {
  done: { code: 0, when: 'success' },
  failed: { code: 1, when: 'failure; standard error says why' },
  usage: { code: 2, when: 'wrong usage, or the service rejected a value (HTTP 422)' },
  denied: { code: 3, when: 'the policy denied the payment, or the price is above --max-amount' },
  unauthorised: { code: 4, when: 'no key, or a key without permission (HTTP 401, 403)' },
  notFound: { code: 5, when: 'no such record, or the key cannot see it (HTTP 404)' },
  unavailable: { code: 6, when: 'the service does not answer or is unavailable (HTTP 429, 503)' },
  undelivered: { code: 7, when: 'paid, but the goods did not arrive' },
  uncertain: { code: 8, when: 'no goods arrived, and the payment may still be charged' },
  interrupted: { code: 130, when: 'interrupted with Ctrl-C' },
} as const

export type Exit = keyof typeof exits

export const exitCodes = Object.fromEntries(
  Object.entries(exits).map(([exit, { code }]) => [exit, code]),
) as Readonly<Record<Exit, number>>

/** An expected failure of a command, with a one-sentence message and an exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: number
  constructor(message: string, exit: Exit = 'failed') {
    super(message)
    this.exitCode = exitCodes[exit]
  }
}
