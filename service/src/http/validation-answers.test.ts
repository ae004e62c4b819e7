import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { test } from 'node:test'

import type { ValidationItem } from '@purser/wire/errors'

import { sendPlain, type PlainAnswer } from '../../testing/http/plain-http.ts'
import { type TestService, startTestService } from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'
import { vectors, type Vector } from './validation/validation.vectors.ts'

/** The min percentage of cases whose messages, inputs and contexts match the table too. */
const leastExactPercent = 95

test('An invalid request is a 422 with the items that clients expect, over HTTP [errors.422] [validation.body] [endpoint.json]', async (t) => {
  const service = await startTestService(t)
  const refused = vectors.filter(({ detail }) => detail !== undefined)
  const inexact: string[] = []
  for (const vector of refused) {
    const answer = await send(service, vector)
    const title = `${vector.id} ${vector.method} ${vector.path}: ${vector.title}`
    assert.equal(answer.status, vector.status, `${title}: ${answer.text}`)
    assert.deepEqual(places(answer.body.detail), places(vector.detail), title)
    if (!isDeepStrictEqual(answer.body.detail, asJson(vector.detail))) inexact.push(title)
  }
  const percent = (100 * (refused.length - inexact.length)) / refused.length
  t.diagnostic(
    `${refused.length} refused requests: all of status, type and loc match, ${percent.toFixed(1)} % word for word`,
  )
  assert.ok(refused.length > 150, 'the table is there')
  assert.ok(percent >= leastExactPercent, `${percent} %: ${inexact.join('\n')}`)
})

test('A request that matches the schema is not refused for its format [errors.422] [endpoint.json]', async () => {
  const service = await shareTestService()
  const accepted = vectors.filter(({ detail }) => detail === undefined)
  for (const vector of accepted) {
    const { status, text } = await send(service, vector)
    const title = `${vector.id} ${vector.method} ${vector.path}: ${vector.title}`
    assert.ok(![400, 401, 422].includes(status) && status < 500, `${title}: ${status} ${text}`)
  }
  assert.ok(accepted.length > 20, 'the table is there')
})

test('A 422 body is detail with items of type, loc, msg, and optional input and ctx, and nothing else [validation.body]', async (t) => {
  const service = await startTestService(t)
  for (const vector of vectors.filter(({ status }) => status === 422)) {
    const { headers, body } = await send(service, vector)
    assert.equal(headers['content-type'], 'application/json; charset=utf-8')
    assert.deepEqual(Object.keys(body), ['detail'])
    assert.ok(body.detail.length > 0)
    for (const item of body.detail) {
      const { type, loc, msg, input: _input, ctx = {}, ...others } = item
      assert.deepEqual(others, {}, vector.id)
      assert.deepEqual([typeof type, typeof msg, typeof ctx], ['string', 'string', 'object'], vector.id)
      assert.ok(
        loc.every((key: unknown) => typeof key === 'string' || Number.isInteger(key)),
        vector.id,
      )
      assert.ok(['body', 'query'].includes(loc[0]), vector.id)
    }
  }
})

/** Sends the case with a key that may call every endpoint, unless the case is about credentials. */
function send(service: TestService, { method, path, headers, body }: Vector): Promise<PlainAnswer> {
  const authorization = `Bearer ${service.sandboxKey}`
  return sendPlain(service.url, { method, path, headers: { authorization, ...headers }, body })
}

/** What must match in every case: the type and location of each item, in order; or the detail, if it is a string. */
function places(detail: Vector['detail']): unknown {
  if (typeof detail === 'string') return detail
  return detail?.map(({ type, loc }: ValidationItem) => [type, ...loc])
}

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
