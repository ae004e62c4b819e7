import type { FastifyInstance } from 'fastify'

import { refuse } from '../http/answers.ts'
import type { RateLimits } from '../http/rate-limits.ts'
import { send } from '../http/serve.ts'
import { expositionType } from './exposition.ts'
import { metricsPath, showsToken } from './metrics-token.ts'
import type { Scrape } from './scrape.ts'

export interface MetricsRoute {
  readonly token: string
  readonly scrape: Scrape
}

/** Serves metrics on the main port, with the token. */
export function serveMetrics(
  app: FastifyInstance,
  { token, scrape }: MetricsRoute,
  rateLimits: RateLimits | undefined,
): void {
  app.get(metricsPath, async (request, reply) => {
    if (!showsToken(request.headers.authorization, token)) {
      const limited = rateLimits?.takeForAddress(request)
      return send(reply, limited ?? refuse('Not authenticated'))
    }
    const text = await scrape().catch((error: unknown) => {
      request.log.error({ err: error }, 'the metrics could not be read')
    })
    if (text === undefined) return send(reply, refuse('store_unavailable'))
    return reply
      .headers({ 'cache-control': 'no-store', 'x-request-id': request.id })
      .type(expositionType)
      .send(text)
  })
}
