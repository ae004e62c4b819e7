import type { ValidationItem } from '@purser/wire/errors'
import type { Endpoint } from '@purser/wire/endpoint'

import { echoExactly } from '../exact-echo.ts'
import { readJsonBody } from '../json-body.ts'
import { compileValidator } from '../validator.ts'

/** The result of validating a request, before any route is called. */
export type Outcome =
  | { readonly status: 'fine'; readonly value: unknown }
  | { readonly status: 422; readonly items: readonly ValidationItem[] }
  | { readonly status: 400 }

/** The result for the body of an endpoint, with the items as a client receives them. */
export function answerToBody(endpoint: Endpoint, bytes: Buffer, contentType: string | undefined): Outcome {
  if (!endpoint.body) throw new TypeError(`${endpoint.id} takes no body`)
  const reading = readJsonBody(bytes, contentType)
  if (reading.kind === 'unreadable') return { status: 400 }
  if (reading.kind === 'invalid') return { status: 422, items: asSent(reading.items) }
  const checked = compileValidator(endpoint.body, 'body')(reading.value)
  if (checked.ok) return { status: 'fine', value: checked.value }
  return { status: 422, items: asSent(echoExactly(checked.items, reading.json)) }
}

/** The result for the query of an endpoint. */
export function answerToQuery(endpoint: Endpoint, query: Record<string, string | string[]>): Outcome {
  if (!endpoint.query) throw new TypeError(`${endpoint.id} takes no query`)
  const checked = compileValidator(endpoint.query, 'query')(query)
  return checked.ok ? { status: 'fine', value: checked.value } : { status: 422, items: asSent(checked.items) }
}

function asSent(items: readonly ValidationItem[]): ValidationItem[] {
  return JSON.parse(JSON.stringify(items)) as ValidationItem[]
}
