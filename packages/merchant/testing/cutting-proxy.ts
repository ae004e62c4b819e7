import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/**
 * What the network between a merchant and the service does:
 * - `pass`: nothing;
 * - `down`: no connection holds;
 * - `silent`: requests are swallowed, and nothing is answered;
 * - `cut first answers`: the first answer to each idempotency key is lost, after the service has acted;
 * - `cut answers`: every answer is lost, after the service has acted;
 * - `cut one answer, then forbid`: the next answer is lost, and later requests get a page of the proxy;
 * - `forbid`: requests get a page of the proxy, and do not reach the service;
 * - `hold answers`: answers wait until the network passes again.
 */
export type Network =
  | 'pass'
  | 'down'
  | 'silent'
  | 'cut first answers'
  | 'cut answers'
  | 'cut one answer, then forbid'
  | 'forbid'
  | 'hold answers'

/** A TCP proxy for the service that drops answers on request. */
export interface CuttingProxy {
  readonly url: string
  readonly set: (network: Network) => void
  /** How many answers were dropped. */
  readonly cuts: () => number
  /** Resolves when an answer from the service is being held. */
  readonly holding: () => Promise<void>
}

export async function startCuttingProxy(
  context: Pick<TestContext, 'after'>,
  serviceUrl: string,
): Promise<CuttingProxy> {
  const { hostname, port } = new URL(serviceUrl)
  const sockets = new Set<Socket>()
  const seenKeys = new Set<string>()
  let network: Network = 'pass'
  let cuts = 0
  let held: (() => void)[] = []
  let onHeld: (() => void)[] = []

  /** Whether to drop the answer to a request; connections carry one request at a time. */
  function isCut(request: string): boolean {
    if (network === 'cut one answer, then forbid') {
      network = 'forbid'
      return true
    }
    if (network !== 'cut first answers') return network === 'cut answers'
    const key = /^idempotency-key: (\S+)/im.exec(request)?.[1] ?? ''
    const isFirst = key !== '' && !seenKeys.has(key)
    seenKeys.add(key)
    return isFirst
  }

  const server = createServer((client) => {
    if (network === 'down') return client.destroy()
    const service = connect(Number(port), hostname)
    const both = [client, service]
    const end = () => both.forEach((socket) => socket.destroy())
    let request = ''
    for (const socket of both) {
      sockets.add(socket)
      socket.setNoDelay(true).on('error', end)
      socket.on('close', () => sockets.delete(socket) && end())
    }
    client.on('data', (chunk) => {
      if (network === 'silent') return
      if (network === 'forbid') {
        client.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 9\r\n\r\nForbidden')
        return
      }
      request += chunk.toString('latin1')
      service.write(chunk)
    })
    service.on('data', (chunk) => {
      const pass = () => client.write(chunk)
      if (isCut(request)) {
        cuts++
        end()
      } else if (network === 'hold answers') {
        held.push(pass)
        onHeld.forEach((resolve) => resolve())
        onHeld = []
      } else pass()
      request = ''
    })
    return undefined
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(async () => {
    sockets.forEach((socket) => socket.destroy())
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    set: (next) => {
      network = next
      if (next === 'down') sockets.forEach((socket) => socket.destroy())
      if (next !== 'hold answers') held.splice(0).forEach((pass) => pass())
      held = []
    },
    cuts: () => cuts,
    holding: () => (held.length > 0 ? Promise.resolve() : new Promise((resolve) => onHeld.push(resolve))),
  }
}
