import type { PoolClient } from 'pg'

import { RolledBackError } from '../driver.ts'
import { breaksConnection, explainFailure } from './errors.ts'
import { beginWith, type BeginOptions } from './local-settings.ts'
import { roundTrip, type Answer, type Statement } from './round-trip.ts'

export const defaultPatienceMs = 10_000
/** Min time limit of a transaction. */
const minLimitMs = 100
/** How long to wait for the server's own time limit before the connection is closed. */
const graceMs = 500

type Begin = Omit<BeginOptions, 'limitMs'>

/** A transaction on one connection. It begins with the first statements. */
export class ServerTransaction {
  readonly #client: PoolClient
  readonly #limitMs: number
  readonly #guard: NodeJS.Timeout
  #isBegun = false
  #isCommitSent = false
  /** The error of a round trip; any other error comes from the work. */
  #failure: unknown
  isCommitted = false
  /** When the server started. */
  serverStart: string | undefined

  constructor(client: PoolClient, patienceMs: number) {
    this.#client = client
    this.#limitMs = Math.max(minLimitMs, Math.ceil(patienceMs))
    // A broken network may never answer.
    this.#guard = setTimeout(() => {
      const error = Object.assign(new Error('PostgreSQL did not answer in time'), { code: 'ETIMEDOUT' })
      client.connection.stream.destroy(error)
    }, this.#limitMs + graceMs)
  }

  /** The answers to statements, sent in one round trip. */
  async send(statements: readonly Statement[], options: Begin): Promise<Answer[]> {
    this.#isCommitSent = false
    return this.#trip(statements, options)
  }

  /** Like `send`, and commits. */
  async commit(statements: readonly Statement[], options: Begin): Promise<Answer[]> {
    this.#isCommitSent = true
    // Not prepared, so that the fault harness finds the word on the wire.
    const answers = await this.#trip([...statements, { text: 'commit' }], options)
    // The server answers ROLLBACK if the transaction had already failed.
    if (answers.at(-1)?.command !== 'COMMIT') throw new RolledBackError('the server has rolled back')
    this.isCommitted = true
    return answers
  }

  async #trip(statements: readonly Statement[], options: Begin): Promise<Answer[]> {
    const begin = this.#isBegun ? [] : beginWith({ ...options, limitMs: this.#limitMs })
    this.#isBegun = true
    try {
      const answers = await roundTrip(this.#client, [...begin, ...statements])
      if (begin.length > 0) this.serverStart = answers[1]?.rows[0] as string | undefined
      return answers.slice(begin.length)
    } catch (error) {
      this.#failure = error
      throw error
    }
  }

  /** Whether the connection can be used again, also for another transaction of this kind. */
  async rollBack(): Promise<boolean> {
    if (!this.#isBegun) return true
    try {
      await roundTrip(this.#client, [{ text: 'rollback' }])
    } catch {
      return false
    }
    this.#isBegun = false
    return true
  }

  /** Whether an error is that of a round trip. */
  isFailure(error: unknown): boolean {
    return error === this.#failure
  }

  isBrokenBy(error: unknown): boolean {
    return this.isFailure(error) && breaksConnection(error)
  }

  explain(error: unknown): unknown {
    return this.isFailure(error) ? explainFailure(error, { isCommitSent: this.#isCommitSent }) : error
  }

  end(): void {
    clearTimeout(this.#guard)
  }
}
