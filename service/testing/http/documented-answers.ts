import type { IncomingHttpHeaders } from 'node:http'

import { answerHeaders, headersOf } from '@purser/wire/answer-headers'
import { answersOf, type Endpoint } from '@purser/wire/endpoint'
import { ErrorBody } from '@purser/wire/errors'
import { endpoints } from '@purser/wire/openapi'
import { Compile } from 'typebox/compile'
import { Format } from 'typebox/format'

import type { PlainAnswer } from './plain-http.ts'

// A URL is returned as the caller wrote it, and callers may write what a URL parser normalizes.
Format.Set('uri', () => true)

/** Checks of the bodies that the description lists, by endpoint and status. */
const bodyChecks = new Map(
  endpoints.map((endpoint) => [
    endpoint.id,
    new Map(
      Object.entries(answersOf(endpoint)).map(([status, { schema }]) => [Number(status), Compile(schema)]),
    ),
  ]),
)

export const isErrorBody = Compile(ErrorBody)

/** Headers of HTTP itself, which no description lists. */
const ofHttp = ['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding']

/** What in a response the endpoint's description does not mention: its status, its body or a header. */
export function undescribed(
  endpoint: Endpoint,
  { status, headers, body }: Pick<PlainAnswer, 'status' | 'headers' | 'body'>,
): string | undefined {
  const check = bodyChecks.get(endpoint.id)?.get(status)
  if (!check) return 'a status that the description does not list'
  if (!check.Check(body)) return 'a body that the description does not describe'
  return wrongHeader(endpoint, status, headers)
}

function wrongHeader(endpoint: Endpoint, status: number, headers: IncomingHttpHeaders): string | undefined {
  const declared = headersOf(endpoint, status).map((id) => answerHeaders[id])
  for (const { name, required, schema } of declared) {
    const value = headers[name.toLowerCase()]?.toString()
    if (value === undefined && required) return `no ${name}`
    if (value !== undefined && !fits(value, schema)) return `${name}: ${value}`
  }
  const names = new Set([...ofHttp, ...declared.map(({ name }) => name.toLowerCase())])
  const other = Object.keys(headers).find((name) => !names.has(name))
  return other === undefined ? undefined : `a header that the description does not list: ${other}`
}

interface HeaderSchema {
  readonly type: string
  readonly pattern?: string
  readonly enum?: readonly string[]
}

function fits(value: string, { type, pattern = '', enum: words }: HeaderSchema): boolean {
  if (type === 'integer') return /^[1-9]\d*$/.test(value)
  return words?.includes(value) ?? new RegExp(pattern).test(value)
}
