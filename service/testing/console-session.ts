import assert from 'node:assert/strict'

import { consoleTokenHeader } from '@purser/wire/console/session'

import type { TestAnswer, TestService } from './service.ts'

/** A signed-in browser: its cookie, and what its pages send with every change. */
export interface SignedIn {
  readonly cookie: string
  readonly csrfToken: string
  readonly call: (method: string, path: string, options?: BrowserCall) => Promise<TestAnswer>
}

interface BrowserCall {
  readonly body?: unknown
  readonly headers?: Record<string, string>
  /** Whether to send the session's token; default true. */
  readonly withToken?: boolean
}

/** Signs in with a key. */
export async function signIn(service: TestService, key: string = service.sandboxKey): Promise<SignedIn> {
  const answer = await service.call('POST', '/v1/console/session', { key: null, body: { api_key: key } })
  assert.equal(answer.status, 201, answer.text)
  return browserOf(service, answer)
}

/** The browser that a response signed in. */
export function browserOf(service: TestService, answer: TestAnswer): SignedIn {
  const cookie = cookieOf(answer)
  const csrfToken = answer.body.csrf_token as string
  return {
    cookie,
    csrfToken,
    call: (method, path, { body, headers = {}, withToken = true } = {}) =>
      service.call(method, path, {
        key: null,
        body,
        headers: { cookie, ...(withToken ? { [consoleTokenHeader]: csrfToken } : {}), ...headers },
      }),
  }
}

/** The cookie that a response sets, as a browser sends it back. */
export function cookieOf({ headers }: Pick<TestAnswer, 'headers'>): string {
  const set = headers.getSetCookie().find((one) => /purser-session=/.test(one))
  assert.ok(set, 'a session cookie is set')
  return set.split(';')[0] ?? ''
}
