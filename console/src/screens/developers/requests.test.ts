import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

import type { Mandate } from '@purser/client'

import { curlOf, requestsFor } from './requests.ts'

test('A sample request works in a shell unchanged, whatever characters it contains', () => {
  const hostile = `it's $(touch /tmp/x) "quoted" \`run\``
  const line = curlOf(
    { id: 'x', title: 'X', about: '', method: 'POST', path: '/agents', body: { name: hostile } },
    { serviceUrl: 'http://127.0.0.1:1', keyName: 'KEY' },
  )
  const words = execFileSync('bash', ['-c', `curl() { printf '%s\\0' "$@"; }; KEY=secret; ${line}`], {
    encoding: 'utf8',
  })
  const body = words.split('\0').at(-2) ?? ''
  assert.deepEqual(JSON.parse(body), { name: hostile })
  assert.ok(words.includes('Authorization: Bearer secret'))
})

test('The sample requests are allowed by the mandate that they name', () => {
  const mandate = {
    id: 'mandate_1',
    agent_id: 'agent_1',
    max_spend_per_transaction: '0.25',
    allowed_sellers: ['*', 'shop.example.org'],
    allowed_categories: ['*', 'reports'],
  } as unknown as Mandate
  const bodyOf = (id: string) =>
    requestsFor({ environment: 'sandbox', mandate, nowMs: 0 }).find((one) => one.id === id)?.body
  const payment = {
    agent_id: 'agent_1',
    mandate_id: 'mandate_1',
    amount: '0.25',
    resource_url: 'https://shop.example.org/data',
  }
  const proposal = { ...payment, merchant_domain: 'shop.example.org', category: 'reports' }
  assert.deepEqual(
    [bodyOf('proof'), bodyOf('evaluate'), bodyOf('verify-agent')],
    [payment, proposal, proposal],
  )
})

test('In production, no requests are shown that only the sandbox supports', () => {
  const [inSandbox, inProduction] = (['sandbox', 'production'] as const).map((environment) =>
    requestsFor({ environment, mandate: undefined, nowMs: 0 }).map(({ id }) => id),
  )
  assert.ok(inSandbox?.includes('proof'))
  assert.ok(!inProduction?.includes('proof'))
})
