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

/** What can go wrong around a COMMIT; in each case the service gets no answer. */
export const commitFaults = [
  'lose COMMIT on its way',
  'lose the reply to COMMIT',
  'swallow the reply to COMMIT',
  'deliver COMMIT late',
] as const
export type CommitFault = (typeof commitFaults)[number]

/** A fault that affects the first connection with an opportunity. */
export type WireFault = CommitFault | 'cut in the middle of a message'

type ClashCode = '40001' | '40P01'

/** Which faults the connections of a proxy inject, and how many they injected. */
export interface Faults {
  readonly random: SeededRandom
  readonly clashes: Record<ClashCode, number>
  /** How many times the server answered a COMMIT and the client never got the answer. */
  untoldCommits: number
  /** Call this with everything that is forwarded. */
  notePassing(): void
  /** The armed fault, if it is one of these; the caller must then inject it. */
  take<Fault extends WireFault>(faults: readonly Fault[]): Fault | undefined
  /** How many statements a new transaction may run before it conflicts; undefined for no conflict. */
  planClash(): number | undefined
}

/** One connection of the service to PostgreSQL, message by message. */
export class ProxiedConnection {
  readonly ended: Promise<void>
  readonly #faults: Faults
  readonly #client: Socket
  readonly #upstream: Socket
  /** The statement of each prepared name and each portal. */
  readonly #prepared = new Map<string, string>()
  readonly #portals = new Map<string, string>()
  /** How many statements the transaction may still run before it conflicts. */
  #untilClash: number | undefined
  /** The proxy made the server fail the transaction; the service still has to get this code. */
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

  /** The text of the statement that a message runs; undefined if it runs none. */
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

  /** Whether the transaction must fail at this statement; at the latest, it does at COMMIT. */
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

  /** Makes the server fail the transaction by replacing the next statement with an invalid one. */
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

  /** Replaces the server's reason for failing the transaction. */
  #tellClash(frame: Frame): Buffer {
    const code = this.#untold
    if (!code || frame.type !== 'E' || codeOfError(frame) !== syntaxError) return frame.bytes
    this.#untold = undefined
    this.#faults.clashes[code]++
    return errorFrame(code, 'the transaction conflicted with another')
  }
}

const unreadable = 'clash'
const syntaxError = '42601'

function isCommitText(text: string): boolean {
  return /^\s*(commit|end)\b/i.test(text)
}
