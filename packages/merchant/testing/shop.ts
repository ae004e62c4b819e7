import type { Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** The response of a handler: text, or chunks produced while they are sent. */
export type Goods = string | AsyncIterable<Uint8Array>

/** The size of `/large`: far more than all buffers hold. */
export const largeBytes = 30_000_000

/** The shop that all adapters serve. It counts handler runs. */
export class Shop {
  runs = 0
  /** Chunks of `/stream` produced so far, and whether the stream has ended. */
  chunks = 0
  streamsEnded = 0
  /** What the handler of `/waiting` waits for. */
  readonly open = Promise.withResolvers<void>()
  /** Resolves when that handler waits. */
  readonly entered = Promise.withResolvers<void>()

  /** The goods of a path; `/broken` throws. */
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
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
