import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { explainFailure, formFaults } from './failures.ts'

/** What the client throws when the service answers so. */
async function failureOf(status: number, body: unknown): Promise<unknown> {
  const purser = new Purser({
    apiKey: 'svc_sand_x',
    baseUrl: 'http://127.0.0.1:1',
    maxRetries: 0,
    fetch: async () => Response.json(body, { status }),
  })
  return purser.sellers
    .list()
    .page()
    .then(
      () => assert.fail('it succeeded'),
      (error: unknown) => error,
    )
}

const refusal = (field: string) =>
  failureOf(422, {
    detail: [
      {
        type: 'value_error',
        loc: ['body', field],
        msg: 'Value error, it is none',
        input: '',
        ctx: { error: 'it is none' },
      },
    ],
  })

test('What is wrong with a form is said once: beside its field, or below where no field shows it', async () => {
  assert.deepEqual(formFaults(null, ['domain']), { byField: {}, rest: undefined })
  assert.deepEqual(formFaults(await refusal('domain'), ['name', 'domain']), {
    byField: { domain: 'It is none' },
    rest: undefined,
  })
  assert.deepEqual(formFaults(await refusal('currency'), ['domain']), {
    byField: {},
    rest: 'currency: It is none',
  })
  const conflict = await failureOf(409, { error: 'seller_exists' })
  assert.deepEqual(formFaults(conflict, ['domain']), { byField: {}, rest: explainFailure(conflict) })
})
