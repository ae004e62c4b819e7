/**
 * The attacks of a hostile tenant, in a separate process: prepared requests on bare sockets at fixed rates,
 * so that they cost the machine little and do not disturb the measurement.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { mintApiKey } from '../src/domain/api-key.ts'

/** The target of the attackers, and their keys. */
export interface Target {
  readonly port: number
  readonly key: string
  readonly agentId: string
  /** A mandate of the max size. */
  readonly mandateId: string
}

/** What the attackers saw in one attack: how often each status was answered, by kind of attack. */
export type Sightings = Record<string, Record<string, number>>

/** The parent's messages, in this order: `target` once, then `begin` and `end` in turn. */
export type Order = { readonly target: Target } | 'begin' | 'end'

/** How often an attack checks whether it has something to send. */
const tickMs = 20

/** Repeated requests per second. */
const perSecond = { bigTexts: 25, denials: 50, inventions: 50, guesses: 150 }

/** How many lists are requested at once and never read, each on a separate connection, and then again. */
const lists = { connections: 300, pages: 4 }

/** Connections that request this many large records at once and never read, and how often a new one opens. */
const slowReaders = { records: 350, everyMs: 200 }

/** How many streams are requested. */
const streams = { feeds: 25, exports: 4 }

/** How long the streams may take to be answered. */
const maxAnswerMs = 10_000

/** A request as bytes. */
function request(
  method: string,
  path: string,
  { key, body }: { readonly key?: string | undefined; readonly body?: unknown } = {},
): Buffer {
  const json = body === undefined ? '' : JSON.stringify(body)
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: purser']
  if (key !== undefined) lines.push(`Authorization: Bearer ${key}`)
  if (json !== '') lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(json)}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${json}`)
}

/** Connections that stay open, unread, from one attack to the next. */
const unread = new Map<Socket, 'open' | 'cut off'>()

/** One attack, from start to end. */
class Attack {
  readonly #target: Target
  readonly #seen: Sightings = {}
  readonly #sockets = new Set<Socket>()
  readonly #timers: NodeJS.Timeout[] = []

  constructor(target: Target) {
    this.#target = target
  }

  async begin(): Promise<void> {
    const { key, agentId, mandateId } = this.#target
    const post = (path: string, body: unknown) => request('POST', path, { key, body })
    const get = (path: string) => request('GET', path, { key })
    const answers: Promise<unknown>[] = []
    const openStream = (kind: string, path: string, read: 'everything' | 'its head') => {
      const signal = AbortSignal.timeout(maxAnswerMs)
      answers.push(once(this.#ask(kind, get(path), read), 'data', { signal }))
    }
    for (let count = 0; count < streams.feeds; count++) openStream('feeds', '/v1/console/feed', 'everything')
    for (let count = 0; count < streams.exports; count++) {
      // Only the status is read, to see whether it may begin.
      openStream('exports', '/v1/console/transactions.csv', 'its head')
    }
    // Behind the lists, they might have no answer on a slow machine until the attack ends.
    await Promise.all(answers)
    const tooLong = post('/agents', { name: 'big', description: 'x'.repeat(60_000) })
    this.#repeat('big texts', perSecond.bigTexts, [tooLong])
    const notAllowed = {
      agent_id: agentId,
      mandate_id: mandateId,
      merchant_domain: 'not-allowed.example',
      amount: '1.00',
      resource_url: `https://not-allowed.example/${'x'.repeat(1_000)}`,
    }
    this.#repeat('denials', perSecond.denials, [post('/v1/policy/evaluate', notAllowed)])
    const inventions = Array.from({ length: perSecond.inventions }, (_, number) =>
      post('/v1/payments/verify', {
        proof: inventedProof,
        merchant_domain: `shop-${number}.example`,
        expected_amount: '1.00',
      }),
    )
    this.#repeat('invented domains', perSecond.inventions, inventions)
    const guesses = Array.from({ length: perSecond.guesses }, () =>
      request('GET', '/agents', { key: mintApiKey('sandbox', randomBytes) }),
    )
    this.#repeat('guesses', perSecond.guesses, guesses)
    const pages = longLists.map((path) => Buffer.concat(Array<Buffer>(lists.pages).fill(get(path))))
    for (let count = 0; count < lists.connections; count++) {
      this.#ask('long lists', pages[count % pages.length] as Buffer, 'nothing')
    }
    const large = Buffer.concat(Array<Buffer>(slowReaders.records).fill(get(`/mandates/${mandateId}`)))
    const comeSlowly = () => {
      const socket = this.#ask('slow readers', large, 'nothing')
      this.#sockets.delete(socket)
      unread.set(socket, 'open')
      socket.on('error', () => unread.set(socket, 'cut off'))
      // Whether the queue is full is visible only to a client that reads.
      this.#ask('long lists', get('/agents?limit=1'))
    }
    this.#timers.push(setInterval(comeSlowly, slowReaders.everyMs))
  }

  async end(): Promise<Sightings> {
    for (const timer of this.#timers) clearInterval(timer)
    for (const socket of this.#sockets) socket.destroy()
    // A client that does not read does not notice that it was disconnected, but one that writes twice more
    // does.
    for (let attempt = 0; attempt < 2; attempt++) {
      for (const [socket, state] of unread) if (state === 'open') socket.write('\r\n')
      await sleep(tickMs)
    }
    for (const [socket, state] of unread) {
      if (state === 'open') continue
      this.#count('slow readers', state)
      unread.delete(socket)
    }
    return this.#seen
  }

  /** Sends this many requests per second on one connection, and counts the answers. */
  #repeat(kind: string, rate: number, requests: readonly Buffer[]): void {
    const socket = this.#open()
    this.#countAnswers(kind, socket)
    const startedAtMs = performance.now()
    let sent = 0
    const tick = () => {
      const due = ((performance.now() - startedAtMs) * rate) / 1_000
      const atOnce: Buffer[] = []
      while (sent < due) atOnce.push(requests[sent++ % requests.length] as Buffer)
      if (atOnce.length > 0 && socket.writable) socket.write(Buffer.concat(atOnce))
    }
    this.#timers.push(setInterval(tick, tickMs))
  }

  /** Sends requests on a separate connection, and reads either all or none of the answers. */
  #ask(kind: string, requests: Buffer, read: 'everything' | 'its head' | 'nothing' = 'everything'): Socket {
    const socket = this.#open()
    if (read !== 'nothing') this.#countAnswers(kind, socket)
    else socket.pause()
    if (read === 'its head') socket.once('data', () => socket.pause())
    socket.write(requests)
    this.#count(kind, 'asked')
    return socket
  }

  #open(): Socket {
    const socket = connect(this.#target.port, '127.0.0.1')
    this.#sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => this.#sockets.delete(socket))
    return socket
  }

  #countAnswers(kind: string, socket: Socket): void {
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1')
      for (let at = text.indexOf(head); at >= 0; at = text.indexOf(head, at + head.length)) {
        this.#count(kind, text.slice(at + head.length, at + head.length + 3))
      }
    })
  }

  #count(kind: string, what: string): void {
    const seen = (this.#seen[kind] ??= {})
    seen[what] = (seen[what] ?? 0) + 1
  }
}

const head = 'HTTP/1.1 '

/** Lists with large pages. */
const longLists = [
  '/v1/transactions?limit=200',
  '/mandates?limit=200',
  '/v1/console/transactions?limit=200',
  '/agents?limit=200',
  '/v1/audit-log?limit=200',
]

const inventedProof = {
  scheme: 'svc-sandbox',
  network: 'sandbox',
  agentId: 'agt_01jd0000000000000000000000',
  mandateId: 'mnd_01jd0000000000000000000000',
  amount: '1.00',
  currency: 'USDC',
  resource: 'https://shop.example/x',
  nonce: '3f2a8c1e-6b1d-4f7e-9a51-0c8f7d2b6e94',
  timestamp: '2026-11-20T12:00:00Z',
  signature: 'x'.repeat(64),
}

let target: Target | undefined
let attack: Attack | undefined
process.on('message', (order: Order) => {
  if (order === 'begin') {
    if (!target) throw new Error('no target to attack')
    attack = new Attack(target)
    void attack.begin().then(() => process.send?.('begun'))
  } else if (order === 'end') {
    void attack?.end().then((seen) => process.send?.(seen))
  } else {
    target = order.target
    process.send?.('ready')
  }
})
