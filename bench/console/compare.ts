import { Connection } from '../connection.ts'
import type { Question } from './screens.ts'

/** A service over a ledger, and the questions about what is in it. */
export interface Asked {
  readonly url: string
  readonly key: string
  readonly questions: readonly Question[]
}

/** The ledgers that are compared. */
export type Compared<Each> = Readonly<Record<'large' | 'small' | 'empty', Each>>

/** How many milliseconds each answer about a screen took, the fastest first; none where it cannot be asked. */
export type ScreenTimes = ReadonlyMap<string, Compared<readonly number[]>>

/**
 * Asks the services in turn, each of them the same question, and goes through all questions again and again: so what
 * else the machine does meanwhile counts for all services, and a bad moment for no screen alone.
 */
export async function askInTurn(asked: Compared<Asked>, rounds: number): Promise<ScreenTimes> {
  const names = ['large', 'small', 'empty'] as const
  const askers = {
    large: await Asker.open(asked.large),
    small: await Asker.open(asked.small),
    empty: await Asker.open(asked.empty),
  }
  const screens = new Map<string, Compared<number[]>>(
    asked.large.questions.map(({ screen }) => [screen, { large: [], small: [], empty: [] }]),
  )
  for (let asking = 0; asking < Math.ceil(rounds / togetherRounds); asking++) {
    for (const [screen, times] of screens) {
      for (let round = -warmingRounds; round < togetherRounds; round++) {
        // Who comes first changes with each round.
        const first = (round + warmingRounds) % names.length
        for (const name of [...names.slice(first), ...names.slice(0, first)]) {
          const ms = await askers[name].ask(screen)
          if (ms !== undefined && round >= 0) times[name].push(ms)
        }
      }
    }
  }
  for (const times of screens.values()) for (const name of names) times[name].sort((a, b) => a - b)
  for (const name of names) askers[name].close()
  return screens
}

/** Rounds of a question one after the other, and those before them that do not count. */
const togetherRounds = 10
const warmingRounds = 2

/** One connection to a service, which reads no more of an answer than it must. */
class Asker {
  readonly #asked: Asked
  readonly #connection: Connection

  static async open(asked: Asked): Promise<Asker> {
    return new Asker(asked, await Connection.open(Number(new URL(asked.url).port)))
  }

  private constructor(asked: Asked, connection: Connection) {
    this.#asked = asked
    this.#connection = connection
  }

  /** How many milliseconds the answer takes; of the feed, its first message. */
  async ask(screen: string): Promise<number | undefined> {
    const question = this.#asked.questions.find((one) => one.screen === screen)
    if (!question) return undefined
    const startedAtMs = performance.now()
    if (question.isStream) await this.#askStream(question)
    else await this.#ask(question)
    return performance.now() - startedAtMs
  }

  close(): void {
    this.#connection.close()
  }

  #ask({ path }: Question): Promise<void> {
    const head = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${this.#asked.key}\r\n\r\n`
    return new Promise((resolve, reject) => {
      this.#connection.listen(({ status, body }) => {
        if (status === 200) resolve()
        else reject(new Error(`${path} answers ${status}: ${body()}`))
      }, reject)
      this.#connection.send(Buffer.from(head))
    })
  }

  async #askStream({ path }: Question): Promise<void> {
    const headers = { authorization: `Bearer ${this.#asked.key}` }
    const response = await fetch(this.#asked.url + path, { headers })
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
  }
}
