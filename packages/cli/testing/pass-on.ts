import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

import type { TestService } from '../../../service/testing/service.ts'

/** The body of a 503 of the service. */
export const storeUnavailable = '{"detail":"store_unavailable"}'

/** Answers a request as the service does. */
export async function passOn(
  service: TestService,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = '', url = '', headers } = request
  const key = headers['idempotency-key']
  const init: RequestInit = {
    method,
    headers: {
      authorization: String(headers.authorization),
      'content-type': 'application/json',
      ...(typeof key === 'string' && { 'idempotency-key': key }),
    },
  }
  if (method !== 'GET') init.body = await text(request)
  const answer = await fetch(service.url + url, init)
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
}

/** A proxy before the service that passes on every request; while `losesAnswers`, it drops their answers. */
export async function startLossyProxy(
  context: { readonly after: (clean: () => unknown) => void },
  service: TestService,
) {
  const proxy = { losesAnswers: true, requests: 0, url: '', close: async () => undefined as unknown }
  const server = createServer((request, response) => {
    proxy.requests += 1
    if (proxy.losesAnswers) response.writeHead = () => response.destroy()
    void passOn(service, request, response)
  }).listen(0, '127.0.0.1')
  context.after(() => server.close())
  await once(server, 'listening')
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  proxy.close = () => new Promise((resolve) => server.close(resolve))
  return proxy
}
