import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A TCP proxy to a server that a test can break and restore. */
export interface BreakableProxy {
  readonly url: string
  /** Cuts every open connection, and each new one. */
  readonly break: () => void
  readonly mend: () => void
}

export async function openBreakableProxy(
  context: { readonly after: (stop: () => Promise<void>) => void },
  targetUrl: string,
): Promise<BreakableProxy> {
  const { hostname, port } = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let isBroken = false
  const server = createServer((client) => {
    if (isBroken) {
      client.destroy()
      return
    }
    const target = connect({ host: hostname, port: Number(port) })
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    client.pipe(target).pipe(client)
  })
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(async () => {
    cut()
    server.close()
    await once(server, 'close')
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    break: () => {
      isBroken = true
      cut()
    },
    mend: () => {
      isBroken = false
    },
  }
}
