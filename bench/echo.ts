import type { AddressInfo } from 'node:net'

import fastify, { LogController } from 'fastify'

import { connectionLimits, keepAliveTimeoutMs, maxBodyBytes } from '../service/src/limits.ts'
import { answerParent } from './child.ts'

/**
 * The minimum work of such an HTTP service: Fastify with the service's own options parses a JSON request and
 * responds with JSON of the same size, without checks, keys or a store.
 */
const app = fastify({
  bodyLimit: maxBodyBytes,
  requestTimeout: connectionLimits.arriveTimeoutMs,
  keepAliveTimeout: keepAliveTimeoutMs,
  forceCloseConnections: 'idle',
  return503OnClosing: false,
  exposeHeadRoutes: false,
  logController: new LogController({ disableRequestLogging: true }),
  logger: { level: 'warn', stream: process.stderr },
})

app.post('/v1/payments/verify', (request, reply) => {
  const { proof } = request.body as { proof: { nonce: string } }
  return reply.send({ verified: true, transaction_id: proof.nonce })
})

export const echoActs = {
  async open(): Promise<number> {
    await app.listen({ host: '127.0.0.1', port: 0 })
    return (app.server.address() as AddressInfo).port
  },
  cpu: (): NodeJS.CpuUsage => process.cpuUsage(),
}

answerParent(echoActs, () => app.close())
