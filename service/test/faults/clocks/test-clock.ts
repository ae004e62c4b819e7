import { setTimeout as sleep } from 'node:timers/promises'

import { holdGraceMs, validityWindowMs } from '../../../src/domain/proof.ts'
import { sendPlain, type PlainRequest } from '../../../testing/http/plain-http.ts'
import type { SeededRandom } from '../../../testing/seeded-random.ts'

/** After this time, a request without an answer can no longer change anything. */
const givenUpAfterMs = 15_000

export interface TestClockOptions {
  readonly urls: () => readonly string[]
  /** The owner's key. */
  readonly secret: string
  readonly random: SeededRandom
}

/** The test clock of the account that pays. While an answer is missing, it is known only within bounds. */
export class TestClock {
  readonly #options: TestClockOptions
  /** How far it is ahead at least, and at most. */
  leastOffsetMs = 0
  mostOffsetMs = 0

  constructor(options: TestClockOptions) {
    this.#options = options
  }

  /** Advances the clock now and then: by some seconds, or past the window of every open proof. */
  async advanceWhile(isOpen: () => boolean): Promise<void> {
    const { random } = this.#options
    while (isOpen()) {
      await sleep(500 + random.below(4_000))
      const seconds = random.below(5) === 0 ? (validityWindowMs + holdGraceMs) / 1_000 : 1 + random.below(30)
      this.mostOffsetMs += seconds * 1_000
      const body = JSON.stringify({ seconds })
      if (await this.#learn({ method: 'POST', path: '/v1/test-clock/advance', body })) continue
      await sleep(givenUpAfterMs)
      await this.read()
    }
  }

  /** Reads the clock, and retries until an answer arrives. */
  async read(): Promise<void> {
    while (!(await this.#learn({ method: 'GET', path: '/v1/test-clock' }))) await sleep(100)
  }

  /** Whether the answer tells how far the clock is ahead. */
  async #learn(request: PlainRequest): Promise<boolean> {
    const { urls, random, secret } = this.#options
    const choices = urls()
    const url = choices[random.below(Math.max(1, choices.length))]
    if (url === undefined) return false
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${secret}` }
    const answer = await sendPlain(url, { ...request, headers, timeoutMs: 12_000 }).catch(() => undefined)
    if (answer?.status !== 200) return false
    this.leastOffsetMs = answer.body.offset_seconds * 1_000
    this.mostOffsetMs = this.leastOffsetMs
    return true
  }
}
