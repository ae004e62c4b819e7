import { attempt, replyOf, type Reply } from './attempt.ts'
import { errorOf } from './error-answers.ts'
import { ConnectionError, PurserError } from './errors.ts'
import type { CallOptions, PurserOptions } from './options.ts'
import { isPassing, maxRetriesLimit, pauseMs, retryAfterMs, sleep } from './retries.ts'
import { timerMs } from './timers.ts'
import { notAnswered, notAnsweredWithin } from './unanswered.ts'
import { untouchedBody } from './untouched-body.ts'

export type { Reply } from './attempt.ts'

/** A request to the service. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Built with `path`, so that ids cannot change the path. */
  readonly path: string
  readonly query?: object | undefined
  readonly body?: object | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Whether it is safe to retry; by default true except for POST. */
  readonly isRepeatable?: boolean | undefined
  /** The status and field of a refusal, which is a result, not an error. */
  readonly refusal?: { readonly status: number; readonly field: string } | undefined
}

/**
 * Sends a request, with retries where that is safe, and returns its response; throws the errors of
 * `errors.ts`.
 */
export type Send = (request: Request, options?: CallOptions) => Promise<Reply>

export function createSend(client: PurserOptions): Send {
  const { random = Math.random } = client
  // Looked up on each call, so that an instrumented global fetch is used.
  const fetch: typeof globalThis.fetch = client.fetch ?? ((input, init) => globalThis.fetch(input, init))
  const pause = client.sleep ?? sleep
  const base = baseOf(client.baseUrl)
  const authorization = authorizationOf(client.apiKey)

  return async (request, options = {}) => {
    const { method, body, isRepeatable = method !== 'POST' } = request
    const { signal } = options
    const timeoutMs = options.timeout ?? client.timeout ?? 10_000
    const maxRetries = Math.min(options.maxRetries ?? client.maxRetries ?? 2, maxRetriesLimit)
    const url = base + request.path + queryText(request.query)
    const headers: Record<string, string> = {
      accept: 'application/json',
      ...authorization,
      ...request.headers,
    }
    if (body) headers['content-type'] = 'application/json'
    const init: RequestInit = { method, headers, redirect: 'manual' }
    if (body) init.body = JSON.stringify(body)

    for (let retry = 1; ; retry++) {
      const outcome = await attempt({ fetch, url, init, timeoutMs, signal }).catch(noAnswer)
      const isAnswer = !(outcome instanceof ConnectionError)
      if (isAnswer && isResult(outcome, request)) return outcome
      const mayPass = !isAnswer || isPassing(outcome.status)
      const pauseBefore =
        isRepeatable && mayPass && retry <= maxRetries
          ? pauseMs(retry, isAnswer ? retryAfterMs(outcome.headers) : null, random)
          : undefined
      if (pauseBefore === undefined) throw isAnswer ? errorOf(outcome, `${method} ${request.path}`) : outcome
      await pause(pauseBefore, signal)
    }
  }
}

/**
 * Sends a GET once, and returns the body of its response as soon as it begins. The timeout applies only
 * until then. Throws the errors of `errors.ts`.
 */
export type Open = (
  request: Pick<Request, 'path' | 'query' | 'headers'>,
  options?: { readonly signal?: AbortSignal | undefined },
) => Promise<ReadableStream<Uint8Array>>

export function createOpen(client: PurserOptions): Open {
  const { timeout = 10_000 } = client
  const fetch: typeof globalThis.fetch = client.fetch ?? ((input, init) => globalThis.fetch(input, init))
  const base = baseOf(client.baseUrl)
  const authorization = authorizationOf(client.apiKey)

  return async ({ path, query, headers }, { signal } = {}) => {
    const asked = `GET ${path}`
    signal?.throwIfAborted()
    const controller = new AbortController()
    const both = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal
    const late = notAnsweredWithin(timeout, asked)
    const timer = setTimeout(() => controller.abort(late), timerMs(timeout))
    try {
      const sent = { ...authorization, ...headers }
      const init = { headers: sent, redirect: 'manual', signal: both } as const
      const response = await fetch(base + path + queryText(query), init)
      if (response.ok && response.body) return untouchedBody(response)
      throw errorOf(await replyOf(response), asked)
    } catch (error) {
      if (both.aborted) throw both.reason
      if (error instanceof PurserError) throw error
      throw notAnswered(asked, error)
    } finally {
      clearTimeout(timer)
    }
  }
}

function noAnswer(error: unknown): ConnectionError {
  if (error instanceof ConnectionError) return error
  throw error
}

/** A refusal is a result, and so is a success with JSON; a page of another server is neither. */
function isResult({ status, body }: Reply, { refusal }: Request): boolean {
  if (typeof body !== 'object' || body === null) return false
  return (status >= 200 && status < 300) || (status === refusal?.status && refusal.field in body)
}

function baseOf(baseUrl = 'http://127.0.0.1:8080'): string {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (base?.protocol !== 'http:' && base?.protocol !== 'https:') {
    throw new PurserError('baseUrl must be an http or https URL such as http://127.0.0.1:8080')
  }
  return base.origin + base.pathname.replace(/\/+$/, '')
}

/** The header with the key, without whitespace around it: `fetch` may refuse it, with an error that repeats the key. */
function authorizationOf(apiKey: PurserOptions['apiKey']): { readonly authorization?: string } {
  if (apiKey === null) return {}
  const key = typeof apiKey === 'string' && apiKey.trim()
  if (!key) {
    throw new PurserError(
      'apiKey is missing (is its variable set?); pass an API key, or null to call without one',
    )
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new PurserError('apiKey has characters that no key has; pass the whole key')
  }
  return { authorization: `Bearer ${key}` }
}

function queryText(query: object = {}): string {
  type Value = string | number | boolean | undefined | Readonly<Record<string, string>>
  const given = Object.entries(query).flatMap(([name, value]: [string, Value]): [string, string][] => {
    if (value === undefined) return []
    if (typeof value !== 'object') return [[name, String(value)]]
    // `metadata[project]=apollo`: each entry of a map is a parameter.
    return Object.entries(value).map(([key, text]) => [`${name}[${key}]`, text])
  })
  const text = new URLSearchParams(given).toString()
  return text && `?${text}`
}
