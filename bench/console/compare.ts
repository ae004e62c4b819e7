import { Connection } from '../connection.ts'
import type { Question } from './screens.ts'

/** A service over a ledger, and the requests about its contents. */
export interface Asked {
  readonly url: string
  readonly key: string
  readonly questions: readonly Question[]
}

/** The ledgers that are compared. */
export type Compared<Each> = Readonly<Record<'large' | 'small' | 'empty', Each>>

/** Milliseconds of each response for a screen, fastest first; none if it cannot be requested. */
export type ScreenTimes = ReadonlyMap<string, Compared<readonly number[]>>

/**
 * Sends the same request to each service in turn, and cycles through all requests many times, so that other
 * load on the machine affects all services and screens alike.
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
        // The order changes with each round.
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

/** Consecutive rounds of a request, and the warm-up rounds before them. */
const togetherRounds = 10
const warmingRounds = 2

/** One connection to a service, which parses as little of a response as possible. */
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

  /** Milliseconds until the response; for the feed, until its first message. */
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
