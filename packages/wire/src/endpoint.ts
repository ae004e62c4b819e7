import { Type, type ObjectSchema, type Schema } from './schema/type.ts'

import { readerRoles, type Role } from './roles.ts'
import { ErrorBody, ValidationErrorBody, errorAnswers, type ErrorCode } from './errors.ts'
import { refusesUnknownParameters } from './interface-endpoints.ts'

/** One endpoint of the interface: its path, who may call it, its inputs and responses. */
export interface Endpoint<
  Body extends Schema = Schema,
  Query extends ObjectSchema = ObjectSchema,
  Params extends ObjectSchema = ObjectSchema,
> {
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** The path, with `{name}` for each parameter. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  /** The roles that may call the endpoint; `public` needs no key. */
  readonly roles: readonly Role[] | 'public'
  readonly body?: Body
  readonly query?: Query
  readonly params?: Params
  readonly responses: Readonly<Record<number, Schema>>
  /** What each status in `responses` means. */
  readonly responseDescriptions: Readonly<Record<number, string>>
  /** The media type of a successful response, if it is not JSON. Errors are always JSON. */
  readonly produces?: 'text/event-stream' | 'text/csv'
  /** The error answers of this endpoint, in order of precedence. */
  readonly errors: readonly ErrorCode[]
  /** When this endpoint returns an error, where that is more specific than the error table. */
  readonly errorDescriptions?: Readonly<Partial<Record<ErrorCode, string>>>
}

/** The errors of every endpoint that needs a key, checked before its own errors. */
const commonErrors: readonly ErrorCode[] = [
  'rate_limited',
  'Not authenticated',
  'invalid_api_key',
  'insufficient_scope',
]

/** Additional errors for requests with a session cookie. */
const sessionErrors: readonly ErrorCode[] = [
  'invalid_session',
  'cross_site_request',
  'csrf_token_missing',
  'environment_not_in_session',
]

/** The endpoint as declared, plus the authentication errors. */
export function endpoint<
  Body extends Schema = never,
  Query extends ObjectSchema = never,
  Params extends ObjectSchema = never,
>(declared: Endpoint<Body, Query, Params>): Endpoint<Body, Query, Params> {
  if (declared.roles === 'public') return declared
  const ofSessions = takesSession(declared) ? sessionErrors : []
  const errors = [...commonErrors, ...ofSessions, ...declared.errors, 'store_unavailable' as const]
  if (declared.method !== 'GET') return { ...declared, errors }
  const errorDescriptions = {
    store_unavailable: 'the store is unavailable',
    ...declared.errorDescriptions,
  }
  return { ...declared, errors, errorDescriptions }
}

/** All responses of an endpoint by status: its own, its errors, and the 422 if it takes input. */
export function answersOf(declared: Endpoint): Record<number, { description: string; schema: Schema }> {
  const answers: Record<number, { description: string; schema: Schema }> = {}
  for (const [status, schema] of Object.entries(declared.responses)) {
    const description = declared.responseDescriptions[Number(status)] ?? declared.summary
    answers[Number(status)] = { description, schema }
  }
  const refusesUnknown = refusesUnknownParameters(declared)
  if (declared.body || declared.query || refusesUnknown) {
    answers[422] = { description: invalidRequest(declared, refusesUnknown), schema: ValidationErrorBody }
  }
  for (const code of errorsOf(declared)) {
    const { status } = errorAnswers[code]
    const when = whenGiven(declared, code)
    const known = answers[status]
    const line = `\`${code}\`: ${when}.`
    if (!known) answers[status] = { description: line, schema: ErrorBody }
    else if (known.schema === ErrorBody) known.description += `\n\n${line}`
    else {
      known.description += `\n\n${line}`
      known.schema = Type.Union([known.schema, ErrorBody])
    }
  }
  return answers
}

function invalidRequest({ body, query }: Endpoint, refusesUnknown: boolean): string {
  const parts = [body && 'body', query && 'query'].filter(Boolean).join(' or the ')
  const faults = [
    ...(parts === '' ? [] : [`the ${parts} does not match its schema`]),
    ...(refusesUnknown ? ['a query parameter is unknown'] : []),
  ].join(', or ')
  return `${faults[0]?.toUpperCase()}${faults.slice(1)}: \`detail\` has an item for each error.`
}

/** When an endpoint returns an error, as a sentence without a period. */
export function whenGiven({ errorDescriptions = {} }: Endpoint, code: ErrorCode): string {
  return errorDescriptions[code] ?? errorAnswers[code].when
}

/** Whether a console session cookie is accepted, like the key that it was started with. */
export function takesSession({ roles }: Pick<Endpoint, 'roles'>): boolean {
  return roles !== 'public' && readerRoles.some((role) => roles.includes(role))
}

/** The endpoint's errors, plus those caused by a body. Unexpected bodies can be too large as well. */
function errorsOf(declared: Endpoint): ErrorCode[] {
  const errors = [...declared.errors]
  if (declared.body) errors.push('There was an error parsing the body')
  if (declared.method !== 'GET') errors.push('payload_too_large')
  return errors
}
