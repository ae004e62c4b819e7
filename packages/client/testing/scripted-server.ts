import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that is not Purser, to test proxies and broken servers between client and service. */
export async function startServer(
  context: { readonly after: (stop: () => Promise<void>) => void },
  listener: RequestListener,
): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
