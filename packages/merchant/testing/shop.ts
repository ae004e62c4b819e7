import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

import type { Payment } from '@purser/merchant'

/** The response of a handler: text, with a status other than 200 if it is a failure, or chunks produced while sent. */
export type Goods = string | { readonly status: number } | AsyncIterable<Uint8Array>

/** The text of goods with their status; undefined for a stream. */
export function textOf(goods: Goods): { readonly status: number; readonly text: string } | undefined {
  if (typeof goods === 'string') return { status: 200, text: goods }
  return 'status' in goods ? { status: goods.status, text: `status ${goods.status}` } : undefined
}

/** The size of `/large`: far more than all buffers hold. */
export const largeBytes = 16_000_000

/** The shop that all adapters serve. It counts handler runs. */
export class Shop {
  runs = 0
  /** Chunks of `/stream` produced so far, and whether the stream has ended. */
  chunks = 0
  streamsEnded = 0
  /** What the handlers of `/waiting` wait for. */
  open = Promise.withResolvers<void>()
  /** Resolves when such a handler waits. */
  entered = Promise.withResolvers<void>()

  /** What `/measured` meters; nothing if it is null. */
  amount: string | null = '0'
  /** The payment of the last run. */
  payment: Payment | undefined

  /** The goods of a path; `/broken` throws. */
  async sell(path: string, payment?: Payment): Promise<Goods> {
    this.runs++
    this.payment = payment
    const status = /\/status-(\d{3})$/.exec(path)?.[1]
    if (status !== undefined) return { status: Number(status) }
    const amount = /\/metered-([\d.]+)$/.exec(path)?.[1]
    if (amount !== undefined) payment?.meter(amount)
    if (path.endsWith('/measured') && this.amount !== null) payment?.meter(this.amount)
    if (path.endsWith('/chapters')) return this.pages(undefined)
    if (path.endsWith('/pages')) return this.pages(payment)
    if (path.endsWith('/relayed-pages')) return this.relayedPages(payment)
    if (path.endsWith('/torn-pages')) return this.pages(payment, new Error('the page is torn'))
    if (path.endsWith('/torn-chapters')) return this.pages(undefined, new Error('the page is torn'))
    if (path.endsWith('/broken')) throw new Error('the shelf has fallen down')
    if (path.endsWith('/stream')) return this.stream()
    if (path.endsWith('/late-stream')) return this.lateStream(payment)
    if (path.endsWith('/counted-stream')) return this.countedStream(payment)
    if (path.endsWith('/large')) return 'x'.repeat(largeBytes)
    if (path.endsWith('/empty')) return ''
    if (path.includes('/waiting')) {
      this.entered.resolve()
      await this.open.promise
    }
    return JSON.stringify({ goods: 'rows', path })
  }

  /** Lets the next handler of `/waiting` wait again. */
  wait(): void {
    this.open = Promise.withResolvers<void>()
    this.entered = Promise.withResolvers<void>()
  }

  /** Two pages of 0.75 each. The second waits until the shop is open, and fails if an error is given. */
  private async *pages(payment: Payment | undefined, error?: Error): AsyncGenerator<Uint8Array> {
    payment?.meter('0.75')
    yield Buffer.from('first page,')
    this.entered.resolve()
    await this.open.promise
    if (error) throw error
    payment?.meter('1.50')
    yield Buffer.from('second page')
  }

  /** A page of 0.75 from another server, which resets the connection when the shop is open. */
  private async *relayedPages(payment: Payment | undefined): AsyncGenerator<Uint8Array> {
    const source = createServer((socket) => {
      socket.write('first page,')
      void this.open.promise.then(() => socket.resetAndDestroy())
    }).listen(0, '127.0.0.1')
    await once(source, 'listening')
    payment?.meter('0.75')
    try {
      yield* connect((source.address() as AddressInfo).port, '127.0.0.1')
    } finally {
      source.close()
    }
  }

  /** An endless stream, metered only when it has ended. */
  private async *countedStream(payment: Payment | undefined): AsyncGenerator<Uint8Array> {
    try {
      yield* this.stream()
    } finally {
      payment?.meter('0.75')
    }
  }

  /** The same, but it begins only when the shop is open. */
  private async *lateStream(payment: Payment | undefined): AsyncGenerator<Uint8Array> {
    this.entered.resolve()
    await this.open.promise
    yield* this.countedStream(payment)
  }

  /** An endless stream of chunks. */
  private async *stream(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        this.chunks++
        yield new Uint8Array(65_536)
        await new Promise(setImmediate)
      }
    } finally {
      this.streamsEnded++
    }
  }
}

/** A server opened by a test. */
export interface OpenServer {
  readonly url: string
  /** Resolves when the server has noticed that all connections are closed. */
  readonly deserted: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Listens on a free local port. */
export async function listen(server: Server): Promise<OpenServer> {
  const sockets = new Set<Socket>()
  let onDeserted: (() => void)[] = []
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      if (sockets.size === 0) onDeserted.splice(0).forEach((resolve) => resolve())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    deserted: () =>
      sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => onDeserted.push(resolve)),
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
