import { answerHeaders, headersOf, type AnswerHeaderId } from '../answer-headers.ts'
import { consoleTokenHeader, environmentHeader } from '../console/session.ts'
import { answersOf, takesSession, type Endpoint } from '../endpoint.ts'
import { ErrorBody } from '../errors.ts'
import { Environment } from '../fields.ts'
import { maxLengths } from '../lengths.ts'
import { collectSchemas } from './named-schemas.ts'
import { endpoints, interfaceVersion, retries } from '../openapi.ts'
import type { ObjectSchema, Schema } from '../schema/type.ts'

/** The description of each tag. */
const tagDescriptions: Readonly<Record<string, string>> = {
  Accounts: 'Accounts, and their API keys and console sessions.',
  Agents: 'The software agents that spend.',
  Mandates: 'Budgets: what an agent may spend, where, and until when.',
  Budgets: 'Shared budgets: what several mandates may spend together.',
  Approvals: 'What people decide: payments that need their approval, and wider terms that agents ask for.',
  Sellers: 'Recipients of payments, each with a domain.',
  Payments: 'Proofs of payment: issuing, verifying, voiding and looking them up.',
  Policy: 'Decisions about proposed payments.',
  Verification: 'Checks of an agent and its mandate before a payment.',
  Transactions: 'Recorded payments and decisions.',
  Audit: 'The log of every change.',
  Health: 'Health checks of the service.',
  Console: 'Endpoints of the web console; API keys work as well as sessions.',
}

const schemas = collectSchemas()
const paths = pathsOf(endpoints)
const unreadable = {
  description:
    '`bad_request` (400), `request_timeout` (408) or `header_too_large` (431): the request is malformed, incomplete or too large. Any endpoint can return this.',
  content: { 'application/json': { schema: schemas.place(ErrorBody) } },
}
const broken = {
  description: '`internal_error` (500): a bug in the service; the log has the request id.',
  headers: headerReferences(['RequestId', 'CacheControl']),
  content: { 'application/json': { schema: schemas.place(ErrorBody) } },
}

/** The OpenAPI 3.1 document of the interface. */
export const openApiDocument = {
  openapi: '3.1.0',
  info: {
    title: 'Purser',
    version: interfaceVersion,
    description:
      'Spending mandates for software agents. Amounts are decimal text in USDC, compared as text: `10.0` is not `10.00`. Times are RFC 3339 text in UTC unless a field says otherwise. Identifiers are opaque.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: '/', description: 'The service that serves this document.' }],
  security: [{ bearer: [] }],
  tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({
    name,
    description: tagDescriptions[name] ?? '',
  })),
  paths,
  components: {
    schemas: schemas.components(),
    headers: Object.fromEntries(
      Object.entries(answerHeaders).map(([id, { description, required, schema }]) => [
        id,
        { description, required, schema },
      ]),
    ),
    parameters: {
      Environment: {
        name: environmentHeader,
        in: 'header',
        required: false,
        description:
          'For a session with access to both environments: the environment of the request; by default the first one of the session. An API key has its own environment and ignores this header.',
        schema: schemas.place(Environment),
      },
    },
    responses: { Unreadable: unreadable, InternalError: broken },
    securitySchemes: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        description: 'An API key: `svc_sand_…` for the sandbox, `svc_prod_…` for production.',
      },
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: '__Host-purser-session',
        description:
          'A console session, from `POST /v1/console/session`. Without TLS, the cookie is named `purser-session` instead.',
      },
      sessionToken: {
        type: 'apiKey',
        in: 'header',
        name: consoleTokenHeader,
        description:
          'The `csrf_token` of the session, required with the cookie for every request that changes something, and checked if a read has one.',
      },
    },
  },
}

function pathsOf(declared: readonly Endpoint[]): Record<string, Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const one of declared) {
    paths[one.path] ??= {}
    Object.assign(paths[one.path] ?? {}, { [one.method.toLowerCase()]: operationOf(one) })
  }
  return paths
}

function operationOf(one: Endpoint): Record<string, unknown> {
  const access = one.roles === 'public' ? 'No key needed.' : `Roles: ${one.roles.join(', ')}.`
  const [summary = '', ...rest] = one.summary.split(/(?<=\.) /)
  return {
    operationId: one.id,
    tags: [one.tag],
    summary: summary.replace(/\.$/, ''),
    description: [...rest, access].join(' '),
    security: securityOf(one),
    parameters: [
      ...parametersOf(one.params, 'path'),
      ...parametersOf(one.query, 'query'),
      ...headerParametersOf(one),
    ],
    ...(one.body
      ? {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemas.place(one.body) } },
          },
        }
      : {}),
    responses: responsesOf(one),
  }
}

function securityOf(one: Endpoint): Record<string, never[]>[] {
  if (one.roles === 'public') return []
  if (!takesSession(one)) return [{ bearer: [] }]
  const session: Record<string, never[]> = { session: [] }
  return [{ bearer: [] }, one.method === 'GET' ? session : { ...session, sessionToken: [] }]
}

function parametersOf(schema: ObjectSchema | undefined, where: 'path' | 'query'): unknown[] {
  const required: readonly string[] = schema?.required ?? []
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const { description, ...placed } = schemas.place(property satisfies Schema) as Record<string, unknown>
    // `metadata[project]=apollo`: each entry of a map is a parameter.
    const style = placed['type'] === 'object' ? { style: 'deepObject', explode: true } : {}
    return { name, in: where, required: required.includes(name), description, ...style, schema: placed }
  })
}

function headerParametersOf(one: Endpoint): unknown[] {
  const parameters: unknown[] = []
  const retry = retries[one.id]
  if (retry !== undefined) {
    parameters.push({
      name: 'Idempotency-Key',
      in: 'header',
      required: one.errors.includes('idempotency_key_required'),
      description: `For a retry: ${retry}`,
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    })
  }
  if (one.errors.includes('if_match_required')) {
    parameters.push({
      name: 'If-Match',
      in: 'header',
      required: true,
      description:
        'The version that the change was made for, in quotes: the `ETag` of the record when it was read.',
      schema: { type: 'string', maxLength: maxLengths.word },
    })
  }
  if (one.produces === 'text/event-stream') {
    parameters.push({
      name: 'Last-Event-ID',
      in: 'header',
      required: false,
      description: 'The `id` of the last received event; the feed continues after it.',
      schema: { type: 'string', maxLength: maxLengths.feedPlace },
    })
  }
  if (takesSession(one)) parameters.push({ $ref: '#/components/parameters/Environment' })
  return parameters
}

function responsesOf(one: Endpoint): Record<string, unknown> {
  const responses = Object.entries(answersOf(one)).map(([status, { description, schema }]) => [
    status,
    {
      description,
      headers: headerReferences(headersOf(one, Number(status))),
      content: {
        [(Number(status) < 300 && one.produces) || 'application/json']: { schema: schemas.place(schema) },
      },
    },
  ])
  return {
    ...Object.fromEntries(responses),
    '4XX': { $ref: '#/components/responses/Unreadable' },
    '5XX': { $ref: '#/components/responses/InternalError' },
  } as Record<string, unknown>
}

function headerReferences(ids: readonly AnswerHeaderId[]): Record<string, unknown> {
  return Object.fromEntries(ids.map((id) => [answerHeaders[id].name, { $ref: `#/components/headers/${id}` }]))
}
