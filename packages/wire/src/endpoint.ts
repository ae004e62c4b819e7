import { Type, type TObject, type TSchema } from 'typebox'

import type { Role } from './api-keys.ts'
import { ErrorBody, ValidationErrorBody, errorAnswers, type ErrorCode } from './errors.ts'

/** One endpoint of the interface: its address, who may call it, what goes in and what comes out. */
export interface Endpoint<
  Body extends TSchema = TSchema,
  Query extends TObject = TObject,
  Params extends TObject = TObject,
> {
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** The path, with `{name}` where a parameter stands. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  /** The roles whose keys are let in; `public` needs no key. */
  readonly roles: readonly Role[] | 'public'
  readonly body?: Body
  readonly query?: Query
  readonly params?: Params
  readonly responses: Readonly<Record<number, TSchema>>
  /** What a good answer is, when it is no JSON; errors are JSON all the same. */
  readonly produces?: 'text/event-stream' | 'text/csv'
  /** The error answers of this endpoint, in order of precedence. */
  readonly errors: readonly ErrorCode[]
}

/** The errors that any endpoint with a key can give, before its own. */
const commonErrors: readonly ErrorCode[] = ['Not authenticated', 'invalid_api_key', 'insufficient_scope']

/** The errors that an endpoint can give besides to who comes with the cookie of a session. */
const sessionErrors: readonly ErrorCode[] = [
  'invalid_session',
  'cross_site_request',
  'csrf_token_missing',
  'environment_not_in_session',
]

/** The endpoint as declared, with the errors that authentication brings. */
export function endpoint<
  Body extends TSchema = never,
  Query extends TObject = never,
  Params extends TObject = never,
>(declared: Endpoint<Body, Query, Params>): Endpoint<Body, Query, Params> {
  if (declared.roles === 'public') return declared
  const ofSessions = declared.roles.some((role) => role === 'owner' || role === 'operator')
    ? sessionErrors
    : []
  return { ...declared, errors: [...commonErrors, ...ofSessions, ...declared.errors, 'store_unavailable'] }
}

/** Every answer of an endpoint by status: its own, its errors, and the 422 where it takes input. */
export function answersOf(declared: Endpoint): Record<number, { description: string; schema: TSchema }> {
  const answers: Record<number, { description: string; schema: TSchema }> = {}
  for (const [status, schema] of Object.entries(declared.responses)) {
    answers[Number(status)] = { description: declared.summary, schema }
  }
  if (declared.body || declared.query) {
    answers[422] = { description: 'The request does not fit its shape.', schema: ValidationErrorBody }
  }
  for (const code of errorsOf(declared)) {
    const { status, when } = errorAnswers[code]
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

/** The endpoint's errors, with those that a body causes; one that nobody asked for can be too large as well. */
function errorsOf(declared: Endpoint): ErrorCode[] {
  const errors = [...declared.errors]
  if (declared.body) errors.push('There was an error parsing the body')
  if (declared.method !== 'GET') errors.push('payload_too_large')
  return errors
}
