import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { issueProof, merchantDomain, preparePurchase, verifyProof } from '../../../service/testing/service.ts'
import { shareTestService } from '../../../service/testing/shared-service.ts'
import { testCommand, words } from '../testing/command.ts'
import { startLossyProxy } from '../testing/pass-on.ts'

const service = await shareTestService()
const authorize = words(`payments authorize --merchant ${merchantDomain} --amount 4.00`)

test('An authorization whose answers are lost names the key for a retry, and a repeat without it what to do', async (context) => {
  const proxy = await startLossyProxy(context, service)
  const { purserWith } = testCommand(context, { PURSER_URL: proxy.url, PURSER_API_KEY: service.sandboxKey })
  const proof = await issueProof(service, await preparePurchase(service), '4.00')
  const readInput = async () => JSON.stringify(proof)
  const lost = await purserWith({ readInput }, ...authorize)
  assert.deepEqual([lost.code, lost.output], [6, ''])
  const key =
    /^It may have been authorized; repeat it with --idempotency-key ([\w-]+), and it is authorized once\.$/m
  const [, named = ''] = key.exec(lost.errors) ?? assert.fail(lost.errors)
  proxy.losesAnswers = false
  const again = await purserWith({ readInput }, ...authorize, '--idempotency-key', named)
  assert.equal(again.code, 0, again.output)
  const another = await purserWith({ readInput }, ...authorize)
  assert.equal(another.code, 3)
  assert.match(
    another.output,
    /^refused +nonce_reused\ndetail +The proof was authorized or charged before\. .*--idempotency-key/,
  )
  proxy.losesAnswers = true
  const capture = ['payments', 'capture', proof.nonce]
  const unknown = await purserWith({}, ...capture)
  assert.match(unknown.errors, /^It may have been charged; repeat it with --idempotency-key [\w-]+, /m)
})

test('A proof is read from a file or from standard input, as JSON or as it is in its header, wrapped or not', async (context) => {
  const { folder, purser, purserWith } = testCommand(context, {
    PURSER_URL: service.url,
    PURSER_API_KEY: service.sandboxKey,
  })
  const purchase = await preparePurchase(service)
  const writings: readonly ((proof: object) => string)[] = [
    (proof) => `\n${JSON.stringify(proof, null, 2)}\n`,
    (proof) => wrap(JSON.stringify(proof)),
    (proof) => wrap(Buffer.from(JSON.stringify(proof)).toString('base64url')),
    (proof) => JSON.stringify({ proof }),
  ]
  for (const written of writings) {
    const text = written(await issueProof(service, purchase, '4.00'))
    const { code, output, errors } = await purserWith({ readInput: async () => text }, ...authorize)
    assert.equal(code, 0, output + errors)
  }
  const text = JSON.stringify(await issueProof(service, purchase, '4.00'), null, 2)
  writeFileSync(join(folder, 'proof.json'), text)
  const read = await purser(...authorize, '--proof', 'proof.json')
  assert.equal(read.code, 0, read.output + read.errors)
  const missing = await purser(...authorize, '--proof', 'none.json')
  assert.equal(missing.code, 2)
  assert.match(missing.errors, /none\.json cannot be read \(ENOENT\)/)
  const empty = await purserWith({ readInput: async () => '' }, ...authorize)
  assert.equal(empty.code, 2)
  assert.match(empty.errors, /^standard input has no proof: /)
})

test('A payment shows its order and what has been refunded of it', async (context) => {
  const { purser } = testCommand(context, { PURSER_URL: service.url, PURSER_API_KEY: service.sandboxKey })
  const { agentId, mandateId, resourceUrl } = await preparePurchase(service)
  const request = { agent_id: agentId, mandate_id: mandateId, amount: '4.00', resource_url: resourceUrl }
  const issued = await service.call('POST', '/v1/payments/proof', { body: { ...request, order_id: 'A-17' } })
  const { transaction_id: id } = (await verifyProof(service, issued.body.proof)).body
  const before = await purser('transactions', 'show', id)
  assert.match(before.output, /^order +A-17\nrefunded +0\.00 USDC\nrefund of +-\n[^]*^mandate version +1\n/m)
  await purser('transactions', 'refund', id, '--amount', '1.50')
  assert.match((await purser('transactions', 'show', id)).output, /^refunded +1\.50 USDC\n/m)
})

function wrap(text: string): string {
  return text.replaceAll(/.{60}/g, '$&\r\n')
}
