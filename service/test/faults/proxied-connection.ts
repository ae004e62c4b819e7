import type { Socket } from 'node:net'

import {
  codeOfError,
  errorFrame,
  FrameReader,
  parseFrame,
  queryFrame,
  textsOf,
  type Frame,
} from './postgres-frames.ts'
import type { SeededRandom } from '../../testing/seeded-random.ts'

/** What can go wrong around a COMMIT; the service hears nothing in each of them. */
export const commitFaults = [
  'lose COMMIT on its way',
  'lose the reply to COMMIT',
  'swallow the reply to COMMIT',
  'deliver COMMIT late',
] as const
export type CommitFault = (typeof commitFaults)[number]

/** A fault that strikes whatever connection comes along first. */
export type WireFault = CommitFault | 'cut in the middle of a message'

type ClashCode = '40001' | '40P01'

/** Which faults the connections of a proxy make, and how many they made. */
export interface Faults {
  readonly random: SeededRandom
  readonly clashes: Record<ClashCode, number>
  /** How many times the server answered a COMMIT, and nobody was told. */
  untoldCommits: number
  /** To be called with all that goes through. */
  notePassing(): void
  /** The fault that is armed, if it is one of these; whoever takes it must make it. */
  take<Fault extends WireFault>(faults: readonly Fault[]): Fault | undefined
  /** How many statements a new transaction may make before it clashes; undefined lets it be. */
  planClash(): number | undefined
}

/** One connection of the service to PostgreSQL, message by message. */
export class ProxiedConnection {
  readonly ended: Promise<void>
  readonly #faults: Faults
  readonly #client: Socket
  readonly #upstream: Socket
  /** Which statement each prepared name, and each portal, stands for. */
  readonly #prepared = new Map<string, string>()
  readonly #portals = new Map<string, string>()
  /** How many statements the transaction may still make before it clashes. */
  #untilClash: number | undefined
  /** The server has failed the transaction for the proxy; the service is yet to be told, and by this code. */
  #untold: ClashCode | undefined
  #isSilent = false
  #isHoldingCommit = false

  constructor(faults: Faults, client: Socket, upstream: Socket) {
    this.#faults = faults
    this.#client = client
    this.#upstream = upstream
    const fromClient = new FrameReader({ isClient: true })
    const fromServer = new FrameReader({ isClient: false })
    client.setNoDelay(true)
    upstream.setNoDelay(true)
    client.on('data', (chunk: Buffer) => this.#pass(fromClient.push(chunk), (frame) => this.#ask(frame)))
    upstream.on('data', (chunk: Buffer) => this.#pass(fromServer.push(chunk), (frame) => this.#answer(frame)))
    client.on('error', () => undefined).on('close', () => this.#isHoldingCommit || upstream.destroy())
    upstream.on('error', () => undefined).on('close', () => client.destroy())
    this.ended = new Promise((resolve) => upstream.on('close', () => resolve()))
  }

  cut(): void {
    this.#client.destroy()
    this.#upstream.destroy()
  }

  stall(): void {
    this.#client.pause()
    this.#upstream.pause()
  }

  flow(): void {
    this.#client.resume()
    this.#upstream.resume()
  }

  #pass(frames: readonly Frame[], handle: (frame: Frame) => void): void {
    this.#client.cork()
    this.#upstream.cork()
    if (frames.length > 0) this.#faults.notePassing()
    for (const frame of frames) handle(frame)
    this.#client.uncork()
    this.#upstream.uncork()
  }

  /** A message of the service. */
  #ask(frame: Frame): void {
    if (this.#isHoldingCommit) return
    const statement = this.#statementOf(frame)
    if (statement === undefined) return void this.#upstream.write(frame.bytes)
    const isCommit = isCommitText(statement)
    if (this.#isClashDue(statement)) return this.#clash(frame)
    if (isCommit && this.#faults.take(['lose COMMIT on its way'])) return this.cut()
    if (isCommit && this.#faults.take(['deliver COMMIT late'])) return this.#deliverLate(frame)
    this.#upstream.write(frame.bytes)
  }

  /** The text of the statement that a message has the server run; undefined when it has none run. */
  #statementOf(frame: Frame): string | undefined {
    switch (frame.type) {
      case 'Q':
        return textsOf(frame, 1)[0] ?? ''
      case 'P': {
        const [name = '', text = ''] = textsOf(frame, 2)
        this.#prepared.set(name, text)
        return undefined
      }
      case 'B': {
        const [portal = '', name = ''] = textsOf(frame, 2)
        this.#portals.set(portal, this.#prepared.get(name) ?? '')
        return undefined
      }
      case 'E':
        return this.#portals.get(textsOf(frame, 1)[0] ?? '') ?? ''
      default:
        return undefined
    }
  }

  /** Whether the transaction is to fail at this statement; it does at COMMIT at the latest. */
  #isClashDue(statement: string): boolean {
    if (/^\s*(begin|start transaction)\b/i.test(statement)) {
      this.#untilClash = this.#faults.planClash()
      return false
    }
    if (/^\s*rollback\b/i.test(statement)) this.#untilClash = undefined
    if (this.#untilClash === undefined) return false
    const isDue = this.#untilClash === 0 || isCommitText(statement)
    this.#untilClash = isDue ? undefined : this.#untilClash - 1
    return isDue
  }

  /** Makes the server fail the transaction, by a statement that it cannot read in the place of the one that is due. */
  #clash({ type }: Frame): void {
    this.#untold = this.#faults.random.pick(['40001', '40P01'])
    this.#upstream.write(type === 'Q' ? queryFrame(unreadable) : parseFrame(unreadable))
  }

  #deliverLate({ bytes }: Frame): void {
    this.#isHoldingCommit = true
    this.#client.destroy()
    const delayMs = 20 + this.#faults.random.below(2_000)
    setTimeout(() => this.#upstream.end(bytes), delayMs)
  }

  /** A message of the server. */
  #answer(frame: Frame): void {
    if (this.#isSilent) return
    if (this.#faults.take(['cut in the middle of a message'])) {
      this.#client.end(frame.bytes.subarray(0, Math.ceil(frame.bytes.length / 2)))
      this.#upstream.destroy()
      return
    }
    if (frame.type === 'C' && textsOf(frame, 1)[0] === 'COMMIT') {
      const fault = this.#faults.take(['lose the reply to COMMIT', 'swallow the reply to COMMIT'])
      if (fault) this.#faults.untoldCommits++
      if (fault === 'lose the reply to COMMIT') return this.cut()
      if (fault) {
        this.#isSilent = true
        return
      }
    }
    this.#client.write(this.#tellClash(frame))
  }

  /** The service is told another reason why the server failed the transaction. */
  #tellClash(frame: Frame): Buffer {
    const code = this.#untold
    if (!code || frame.type !== 'E' || codeOfError(frame) !== syntaxError) return frame.bytes
    this.#untold = undefined
    this.#faults.clashes[code]++
    return errorFrame(code, 'the transaction met another one')
  }
}

const unreadable = 'clash'
const syntaxError = '42601'

function isCommitText(text: string): boolean {
  return /^\s*(commit|end)\b/i.test(text)
}
