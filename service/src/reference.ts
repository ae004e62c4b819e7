import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { openApiDocument } from '@purser/wire/openapi/document'
import fastify, { type FastifyInstance } from 'fastify'

import { refuse } from './http/answers.ts'
import { answerFailures } from './http/failures.ts'
import { requestIdOf } from './http/request-trace.ts'
import { send } from './http/serve.ts'

/**
 * The content security policy of the API reference: load its own files and inline images, and call the
 * service. It shares the origin of the console, so no inline scripts, no framing, and no external form
 * targets.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The interactive reference below a path, ready for requests that another application has received. */
export async function createReference(path: string): Promise<FastifyInstance> {
  const app = fastify({ genReqId: ({ headers }) => requestIdOf(headers) })
  answerFailures(app)
  app.setNotFoundHandler((_request, reply) => send(reply, refuse('Not Found')))
  await app.register(swagger, { mode: 'static', specification: { document: openApiDocument as never } })
  await app.register(async (pages) => {
    pages.addHook('onSend', (_request, reply, _payload, done) => {
      void reply.headers({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
      done()
    })
    await pages.register(swaggerUi, { routePrefix: path, staticCSP: policy })
  })
  await app.ready()
  return app
}
