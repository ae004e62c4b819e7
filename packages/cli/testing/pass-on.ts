import type { IncomingMessage, ServerResponse } from 'node:http'
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
