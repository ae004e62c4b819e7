import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** What happens to a stolen commit. In each case the client's connection breaks without an answer. */
export type Theft =
  /** It arrives and takes effect, and its answer is lost. */
  | 'answer'
  /** It never arrives. */
  | 'commit'
  /** It arrives only after the client has given up the connection, when `deliver` is called. */
  | 'late'
  /** It arrives, and the server completes it although the client is gone. */
  | 'unheard'

/** A proxy to a PostgreSQL server on which commits get lost. */
export interface CommitThief {
  readonly url: string
  /**
   * Steals the given number of next commits, after some that are let through. The connection of a late one breaks at
   * once, or once a promise resolves.
   */
  readonly steal: (
    theft: Theft,
    options?: { readonly count?: number; readonly after?: number; readonly breaks?: Promise<unknown> },
  ) => void
  /** Stops stealing. */
  readonly stop: () => void
  /** How many have been stolen. */
  readonly stolen: () => number
  /** Delivers the delayed commits; resolves when the server has answered them. */
  readonly deliver: () => Promise<void>
  /** Breaks every connection, and then refuses new ones. */
  readonly close: () => Promise<void>
}

/** Opens a proxy to the server of an address. */
export async function openCommitThief(databaseUrl: string): Promise<CommitThief> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const kept: (() => Promise<void>)[] = []
  let planned: (Theft | 'none')[] = []
  let lateBreak: Promise<unknown> = Promise.resolve()
  let stolen = 0

  const proxy = createServer({ noDelay: true }, (client) => {
    const server = connect({ host: target.hostname, port: Number(target.port), noDelay: true })
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
    }
    let isStealing = false
    let isKept = false
    const commits = commitWatcher()
    const robbed: Readonly<Record<Theft, (bytes: Buffer) => void>> = {
      commit: () => client.destroy(),
      answer: (bytes) => {
        server.write(bytes)
        server.on('data', (answer) => {
          if (answer.includes('COMMIT\0') || answer.includes('ROLLBACK\0')) client.destroy()
        })
      },
      unheard: (bytes) => {
        isKept = true
        server.write(bytes)
        client.destroy()
      },
      late: (bytes) => {
        isKept = true
        // The server runs the statements before it, and holds their locks.
        const at = Math.max(0, bytes.indexOf(commitMessage))
        server.write(bytes.subarray(0, at))
        kept.push(async () => {
          const answered = once(server, 'data')
          server.write(bytes.subarray(at))
          await answered
          server.destroy()
        })
        void lateBreak.then(() => client.destroy())
      },
    }
    client.on('data', (bytes) => {
      const theft = commits(bytes) && !isStealing ? planned.shift() : undefined
      if (theft === undefined || theft === 'none') {
        server.write(bytes)
        return
      }
      isStealing = true
      stolen += 1
      robbed[theft](bytes)
    })
    server.on('data', (bytes) => {
      if (!isStealing) client.write(bytes)
    })
    client.on('close', () => {
      if (!isKept) server.destroy()
    })
    server.on('close', () => client.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const url = new URL(databaseUrl)
  url.port = String((proxy.address() as AddressInfo).port)
  return {
    url: url.href,
    steal: (theft, { count = 1, after = 0, breaks = Promise.resolve() } = {}) => {
      lateBreak = breaks
      const spared = Array.from({ length: after }, () => 'none' as const)
      planned = [...planned, ...spared, ...Array.from({ length: count }, () => theft)]
    },
    stop: () => {
      planned = []
    },
    stolen: () => stolen,
    deliver: async () => {
      for (const send of kept.splice(0)) await send()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      if (!proxy.listening) return
      proxy.close()
      await once(proxy, 'close')
    },
  }
}

/** An unnamed statement of that one word. */
const commitMessage = Buffer.from('P\0\0\0\x0e\0commit\0')

/** Whether what a client sends contains a commit. */
function commitWatcher(): (bytes: Buffer) => boolean {
  let tail = Buffer.alloc(0)
  return (bytes) => {
    const seen = Buffer.concat([tail, bytes])
    const found = seen.includes(commitMessage)
    tail = found ? Buffer.alloc(0) : seen.subarray(Math.max(0, seen.length - commitMessage.length + 1))
    return found
  }
}
