/** How `purser` ends, and when. */
export const exits = {
  done: { code: 0, when: 'it is done' },
  failed: { code: 1, when: 'it failed; standard error says why' },
  usage: { code: 2, when: 'it was called wrongly, or the service refused a value (HTTP 422)' },
  denied: { code: 3, when: 'the policy denied the payment, or it costs more than --max-amount' },
  unauthorised: { code: 4, when: 'there is no key, or the key does not reach so far (HTTP 401, 403)' },
  notFound: { code: 5, when: 'there is no such record, or the key does not see it (HTTP 404)' },
  unavailable: { code: 6, when: 'the service does not answer, or cannot now (HTTP 503)' },
  undelivered: { code: 7, when: 'it was paid, and the goods did not come' },
  uncertain: { code: 8, when: 'no goods came, and the payment may still be charged' },
  interrupted: { code: 130, when: 'Ctrl-C ended it' },
} as const

export type Exit = keyof typeof exits

export const exitCodes = Object.fromEntries(
  Object.entries(exits).map(([exit, { code }]) => [exit, code]),
) as Readonly<Record<Exit, number>>

/** An error that says in one sentence why a command cannot do what it is for, with the exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: number
  constructor(message: string, exit: Exit = 'failed') {
    super(message)
    this.exitCode = exitCodes[exit]
  }
}
