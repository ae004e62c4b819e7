import type { Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** What a handler answers with: a text, or chunks that are made while they are sent. */
export type Goods = string | AsyncIterable<Uint8Array>

/** How large `/large` is: far more than what lies in buffers on the way. */
export const largeBytes = 30_000_000

/** The same shop behind every adapter. It counts how often a handler was run. */
export class Shop {
  runs = 0
  /** Chunks of `/stream` that were made, and whether the stream has come to its end. */
  chunks = 0
  streamsEnded = 0
  /** What the handler of `/waiting` waits for. */
  readonly open = Promise.withResolvers<void>()
  /** Resolves when that handler waits. */
  readonly entered = Promise.withResolvers<void>()

  /** The goods at the end of a path; `/broken` throws. */
  async sell(path: string): Promise<Goods> {
    this.runs++
    if (path.endsWith('/broken')) throw new Error('the shelf has fallen down')
    if (path.endsWith('/stream')) return this.stream()
    if (path.endsWith('/large')) return 'x'.repeat(largeBytes)
    if (path.endsWith('/empty')) return ''
    if (path.endsWith('/waiting')) {
      this.entered.resolve()
      await this.open.promise
    }
    return JSON.stringify({ goods: 'rows', path })
  }

  /** Chunks without end. */
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

/** A server that a test has opened. */
export interface OpenServer {
  readonly url: string
  /** Resolves when no connection is open: the customers have gone, and the server has noticed. */
  readonly deserted: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Lets a server listen on a free port of this machine. */
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
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
