import type { Socket } from 'node:net'

import { codeOfError, errorFrame, FrameReader, queryFrame, textsOf, type Frame } from './postgres-frames.ts'
import type { PostgresProxy } from './postgres-proxy.ts'

/** What can go wrong around a COMMIT; the service hears nothing in each of them. */
export const commitFaults = [
  'lose COMMIT on its way',
  'lose the reply to COMMIT',
  'swallow the reply to COMMIT',
  'deliver COMMIT late',
] as const
export type CommitFault = (typeof commitFaults)[number]

type ClashCode = '40001' | '40P01'

/** Something that the server was asked and has not answered to the end. */
interface Question {
  readonly isCommit: boolean
  /** Asked by the proxy, to make the transaction fail; its answer is not passed on. */
  readonly clash?: ClashCode
}

/** One connection of the service to PostgreSQL, message by message. */
export class ProxiedConnection {
  readonly ended: Promise<void>
  readonly #proxy: PostgresProxy
  readonly #client: Socket
  readonly #upstream: Socket
  readonly #questions: Question[] = []
  /** Which statement each prepared name, and each portal, stands for. */
  readonly #prepared = new Map<string, string>()
  readonly #portals = new Map<string, string>()
  #isUnsynced = false
  #isCommitInGroup = false
  /** How many statements the transaction may still make before it clashes. */
  #untilClash: number | undefined
  /** The server has failed the transaction for the proxy; the service is yet to be told, and by this code. */
  #untold: ClashCode | undefined
  #isSilent = false
  #isHoldingCommit = false

  constructor(proxy: PostgresProxy, client: Socket, upstream: Socket) {
    this.#proxy = proxy
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
    for (const frame of frames) handle(frame)
    this.#client.uncork()
    this.#upstream.uncork()
  }

  /** A message of the service. */
  #ask(frame: Frame): void {
    if (this.#isHoldingCommit) return
    if (!this.#isUnsynced && frame.type !== 'X') this.#clashIfPlanned(frame)
    const isCommit = this.#follow(frame)
    if (isCommit && this.#proxy.take(['lose COMMIT on its way'])) return this.cut()
    if (isCommit && this.#proxy.take(['deliver COMMIT late'])) return this.#deliverLate(frame)
    this.#upstream.write(frame.bytes)
  }

  /** Notes what a message asks for; true when it is the one that asks for a COMMIT. */
  #follow(frame: Frame): boolean {
    switch (frame.type) {
      case '':
        this.#questions.push({ isCommit: false })
        return false
      case 'Q':
        return this.#noteStatement(textsOf(frame, 1)[0] ?? '', { isWhole: true })
      case 'P': {
        const [name = '', text = ''] = textsOf(frame, 2)
        this.#prepared.set(name, text)
        break
      }
      case 'B': {
        const [portal = '', name = ''] = textsOf(frame, 2)
        this.#portals.set(portal, this.#prepared.get(name) ?? '')
        break
      }
      case 'E': {
        const [portal = ''] = textsOf(frame, 1)
        this.#isUnsynced = true
        return this.#noteStatement(this.#portals.get(portal) ?? '', { isWhole: false })
      }
      case 'S':
        this.#questions.push({ isCommit: this.#isCommitInGroup })
        this.#isCommitInGroup = false
        this.#isUnsynced = false
        return false
      default:
    }
    this.#isUnsynced = true
    return false
  }

  #noteStatement(text: string, { isWhole }: { readonly isWhole: boolean }): boolean {
    const isCommit = isCommitText(text)
    if (isWhole) this.#questions.push({ isCommit })
    else this.#isCommitInGroup ||= isCommit
    if (/^\s*(begin|start transaction)\b/i.test(text)) this.#untilClash = this.#proxy.planClash()
    else if (isCommit || /^\s*rollback\b/i.test(text)) this.#untilClash = undefined
    else if (this.#untilClash !== undefined) this.#untilClash--
    return isCommit
  }

  /** Makes the server fail the transaction, between two of its statements; before COMMIT at the latest. */
  #clashIfPlanned(next: Frame): void {
    if (this.#untilClash === undefined) return
    if (this.#untilClash > 0 && !isCommitFrame(next)) return
    this.#untilClash = undefined
    this.#questions.push({ isCommit: false, clash: this.#proxy.random.pick(['40001', '40P01']) })
    this.#upstream.write(queryFrame('select 1/0'))
  }

  #deliverLate({ bytes }: Frame): void {
    this.#isHoldingCommit = true
    this.#client.destroy()
    const delayMs = 20 + this.#proxy.random.below(2_000)
    setTimeout(() => this.#upstream.end(bytes), delayMs)
  }

  /** A message of the server. */
  #answer(frame: Frame): void {
    const [question] = this.#questions
    if (frame.type === 'Z') this.#questions.shift()
    if (this.#isSilent) return
    if (question?.clash) {
      if (frame.type === 'Z') this.#untold = question.clash
      return
    }
    if (this.#proxy.take(['cut in the middle of a message'])) {
      this.#client.end(frame.bytes.subarray(0, Math.ceil(frame.bytes.length / 2)))
      this.#upstream.destroy()
      return
    }
    if (frame.type === 'C' && textsOf(frame, 1)[0] === 'COMMIT') {
      const fault = this.#proxy.take(['lose the reply to COMMIT', 'swallow the reply to COMMIT'])
      if (fault === 'lose the reply to COMMIT') return this.cut()
      if (fault) {
        this.#isSilent = true
        return
      }
    }
    this.#client.write(this.#tellClash(frame, question))
  }

  /** The server says of the first statement after the clash that it comes too late; the service is told why. */
  #tellClash(frame: Frame, question: Question | undefined): Buffer {
    const code = this.#untold
    if (!code) return frame.bytes
    const isRefused = frame.type === 'E' && codeOfError(frame) === '25P02'
    const isRolledBack = frame.type === 'C' && textsOf(frame, 1)[0] === 'ROLLBACK'
    if (!isRefused && !isRolledBack) return frame.bytes
    this.#untold = undefined
    if (isRolledBack && !question?.isCommit) return frame.bytes
    this.#proxy.clashes[code]++
    return errorFrame(code, 'the transaction met another one')
  }
}

function isCommitFrame(frame: Frame): boolean {
  if (frame.type === 'Q') return isCommitText(textsOf(frame, 1)[0] ?? '')
  return frame.type === 'P' && isCommitText(textsOf(frame, 2)[1] ?? '')
}

function isCommitText(text: string): boolean {
  return /^\s*(commit|end)\b/i.test(text)
}
