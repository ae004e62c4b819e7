import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { shareTestService } from '../../../../service/testing/shared-service.ts'
import type { MerchantOptions } from '../../../client/testing/merchant.ts'
import { drip, flood } from '../../../client/testing/endless.ts'
import { startServer } from '../../../client/testing/scripted-server.ts'
import { testCommand } from '../../testing/command.ts'
import { openMarket } from '../../testing/market.ts'
import { passOn, storeUnavailable } from '../../testing/pass-on.ts'

const service = await shareTestService()

const prepareMarket = (context: TestContext, options: MerchantOptions = {}) =>
  openMarket(context, service, options)

test('pay fetches, pays what is asked, and prints only the body to standard output', async (context) => {
  const { merchant, purser, sums } = await prepareMarket(context)
  const { code, output, errors } = await purser('pay', `${merchant.url}/data`)
  assert.deepEqual([code, output], [0, '{"data":[1,2,3]}'])
  assert.match(
    errors,
    /^Asked for: 4\.00 USDC by 127\.0\.0\.1\nDecision: {2}approved\nPaid: {6}4\.00 USDC to 127\.0\.0\.1, transaction txn_\w+$/,
  )
  assert.deepEqual(await sums(), { spent: '4.00', held: '0.00' })
})

test('pay sends the same method, headers and body twice', async (context) => {
  const seen: unknown[] = []
  const { merchant, purser } = await prepareMarket(context, {
    deliver: (request, response) => {
      seen.push(request.headers['accept'], request.headers['x-trace'])
      response.end('done')
    },
  })
  const words = ['--data', '{"query":"rain"}', '--header', 'Accept: text/csv', '--header', 'X-Trace: 7']
  assert.equal((await purser('pay', merchant.url, ...words)).output, 'done')
  assert.deepEqual(seen, ['text/csv', '7'])
  assert.deepEqual(
    merchant.visits.map(({ method, body }) => [method, body]),
    [
      ['POST', '{"query":"rain"}'],
      ['POST', '{"query":"rain"}'],
    ],
  )
})

test("pay prints the merchant's receipt without obeying control characters in it", async (context) => {
  const { merchant, purser } = await prepareMarket(context, {
    deliver: (request, response) => {
      const { nonce } = JSON.parse(decode(request.headers['x-payment-proof']))
      const receipt = { transaction_id: 'txn_\u001b[2J', amount: '4.00', merchant_domain: 'a', nonce }
      const header = Buffer.from(JSON.stringify(receipt)).toString('base64url')
      response.writeHead(200, { 'x-payment-receipt': header }).end()
    },
  })
  assert.match(
    (await purser('pay', merchant.url)).errors,
    /\nPaid: {6}4\.00 USDC to a, transaction txn_\\u001b\[2J$/,
  )
})

test('A receipt for another proof is ignored', async (context) => {
  const receipt = { transaction_id: 'txn_of_another', amount: '4.00', merchant_domain: 'a', nonce: 'n' }
  const { merchant, purser } = await prepareMarket(context, {
    deliver: (_, response) => {
      const header = Buffer.from(JSON.stringify(receipt)).toString('base64url')
      response.writeHead(200, { 'x-payment-receipt': header }).end()
    },
  })
  const { errors } = await purser('pay', merchant.url)
  assert.match(errors, /\nPaid: {6}4\.00 USDC to 127\.0\.0\.1, transaction txn_\w+$/)
  assert.doesNotMatch(errors, /txn_of_another/)
})

test('A payment that the policy denies exits with 3 and costs nothing', async (context) => {
  const { merchant, purser, sums } = await prepareMarket(context, { price: '6.00' })
  const { code, output, errors } = await purser('pay', merchant.url)
  assert.deepEqual([code, output], [3, ''])
  assert.match(
    errors,
    /^Asked for: 6\.00 USDC by 127\.0\.0\.1\nDecision: {2}denied, amount_exceeds_per_transaction_limit: 6\.00 > 5\.00.*\nNothing was paid\.$/,
  )
  assert.deepEqual(await sums(), { spent: '0.00', held: '0.00' })
  assert.equal(merchant.visits.length, 1)
})

test('A payment above --max-amount exits with 3 without asking the service', async (context) => {
  const { merchant, purser, sums } = await prepareMarket(context)
  const { code, errors } = await purser('pay', merchant.url, '--max-amount', '3.99')
  assert.equal(code, 3)
  assert.match(
    errors,
    /\nDecision: {2}not paid, over_max_amount: the price of 4\.00 USDC is above --max-amount 3\.99\nNothing was paid\.$/,
  )
  assert.deepEqual(await sums(), { spent: '0.00', held: '0.00' })
})

test('A free resource is fetched without using a mandate', async (context) => {
  const { purser, sums } = await prepareMarket(context)
  const { code, output, errors } = await purser('pay', `${service.url}/healthz`)
  assert.deepEqual([code, JSON.parse(output), errors], [0, { status: 'ok' }, ''])
  assert.deepEqual(await sums(), { spent: '0.00', held: '0.00' })
})

test('--output writes the body, and --json prints the rest as one document', async (context) => {
  const { merchant, purser, folder } = await prepareMarket(context)
  const { code, output, errors } = await purser('pay', merchant.url, '--output', 'data.json', '--json')
  assert.deepEqual([code, errors], [0, ''])
  const told = JSON.parse(output)
  assert.deepEqual(
    [told.status, told.decision.outcome, told.receipt.amount, told.body_file],
    [200, 'approved', '4.00', join(folder, 'data.json')],
  )
  assert.equal(readFileSync(join(folder, 'data.json'), 'utf8'), '{"data":[1,2,3]}')
  const denied = await purser('pay', merchant.url, '--output', 'b', '--json', '--max-amount', '1')
  assert.deepEqual([denied.code, JSON.parse(denied.output).decision.why], [3, 'over_max_amount'])
  assert.deepEqual(readdirSync(folder), ['data.json'], 'nothing is left of what was not bought')
})

test('Nothing is bought if the output cannot be written', async (context) => {
  const { merchant, purser, folder } = await prepareMarket(context)
  writeFileSync(join(folder, 'data.json'), 'precious')
  const { code, errors } = await purser('pay', merchant.url, '--output', 'data.json')
  assert.equal(code, 1)
  assert.match(errors, /data\.json already exists; choose another --output\. Nothing was paid\.$/)
  assert.match(
    (await purser('pay', merchant.url, '--output', 'no/such')).errors,
    /\(ENOENT\)\. Nothing was paid/,
  )
  assert.deepEqual(merchant.visits, [])
  assert.equal(readFileSync(join(folder, 'data.json'), 'utf8'), 'precious')
})

test('If a merchant fails after the charge, pay exits with 7 and reports the payment', async (context) => {
  const { merchant, purser, sums, folder } = await prepareMarket(context, {
    deliver: (_, response) => void response.writeHead(500).end('out of \u001b[31mpaper'),
  })
  const { code, output, errors } = await purser('pay', merchant.url)
  assert.deepEqual([code, output], [7, ''])
  assert.match(
    errors,
    /\nThe payment was charged \(transaction txn_\w+\), but the goods did not arrive: contact 127\.0\.0\.1:\d+\.\nThe merchant answers 500 .*\nout of \\u001b\[31mpaper\npurser pay: http.* accepted the payment but failed\.$/,
  )
  assert.equal(new Set(merchant.visits.map(({ nonce }) => nonce)).size, 2, 'one proof, shown again')
  assert.deepEqual(await sums(), { spent: '4.00', held: '0.00' })
  const told = await purser('pay', merchant.url, '--json', '--output', 'goods')
  const { status, payment } = JSON.parse(told.output)
  assert.deepEqual(
    [told.code, status, payment.outcome, payment.amount],
    [7, 500, 'paid_not_delivered', '4.00'],
  )
  assert.match(payment.transaction_id, /^txn_/)
  assert.deepEqual(readdirSync(folder), [])
})

test('pay retries with the same proof if the merchant fails, and gets the goods', async (context) => {
  let failures = 2
  const { merchant, purser, sums } = await prepareMarket(context, {
    deliver: (_, response) => void response.writeHead(failures-- > 0 ? 502 : 200).end('goods'),
  })
  const { code, output } = await purser('pay', merchant.url)
  assert.deepEqual([code, output], [0, 'goods'])
  assert.deepEqual(await sums(), { spent: '4.00', held: '0.00' })
})

test('pay with a purchase id continues after a failure and never pays twice', async (context) => {
  let isOpen = false
  const { merchant, purser, sums, folder } = await prepareMarket(context, {
    deliver: (_, response) => void response.writeHead(isOpen ? 200 : 500).end('goods'),
  })
  const words = ['pay', merchant.url, '--purchase-id', 'report-7']
  const failed = await purser(...words)
  assert.equal(failed.code, 7)
  assert.match(failed.errors, /\nRun it again with the same --purchase-id: the same payment continues/)
  isOpen = true
  assert.deepEqual(
    [await purser(...words), await purser(...words)].map(({ code, output }) => [code, output]),
    [
      [0, 'goods'],
      [0, 'goods'],
    ],
  )
  assert.match((await purser(...words)).errors, /^Paid: .*, by an earlier call; nothing was charged now$/)
  // Another agent has a folder of its own.
  const purchases = join(folder, '.local/state/purser/purchases')
  const [agentFolder = '', ...others] = readdirSync(purchases)
  assert.deepEqual([/^agent_\w+$/.test(agentFolder), others], [true, []])
  const files = readdirSync(join(purchases, agentFolder)).toSorted()
  assert.match(files.join(), /^\w+\.\d+\.json,removal$/)
  const other = await purser('pay', `${merchant.url}/other`, '--purchase-id', 'report-7')
  assert.equal(other.code, 1)
  assert.match(other.errors, /The purchase report-7 was started with another request/)
  assert.deepEqual(await sums(), { spent: '4.00', held: '0.00' })
})

test('pay sends the proof to no other origin, and exits with 7 if it was charged', async (context) => {
  const proofs: unknown[] = []
  const thief = await startServer(context, ({ headers }, response) => {
    proofs.push(headers['x-payment-proof'])
    response.end('mine')
  })
  const redirect = (_: unknown, response: ServerResponse) =>
    Boolean(response.writeHead(307, { location: thief }).end())
  const early = await prepareMarket(context, { beforeVerify: redirect })
  const { code, output, errors } = await early.purser('pay', early.merchant.url)
  assert.deepEqual([code, output], [1, ''])
  assert.match(
    errors,
    /\nNothing was charged\.\nThe merchant answers 307 .*\npurser pay: http.* redirects to http.*, to which the proof was not sent\.$/,
  )
  const late = await prepareMarket(context, { deliver: (_, response) => void redirect(_, response) })
  const charged = await late.purser('pay', late.merchant.url)
  assert.equal(charged.code, 7)
  assert.match(charged.errors, /, to which the proof was not sent; the goods may be there\.$/)
  assert.deepEqual(proofs, [])
})

for (const [what, fail] of [
  ['503', (response) => void response.writeHead(503, { 'retry-after': '1' }).end(storeUnavailable)],
  ['nothing', (response) => void response.destroy()],
] as readonly (readonly [string, (response: ServerResponse) => void])[]) {
  test(`Received goods are delivered even if the service answers ${what} when asked about the payment`, async (context) => {
    const { merchant, purser, folder, environment, sums } = await prepareMarket(context)
    environment['PURSER_URL'] = await startServer(context, (request, response) => {
      if (request.url?.includes('/payments/proofs/')) fail(response)
      else void passOn(service, request, response)
    })
    const unknown =
      /\nDelivered: up to 4\.00 USDC may have been charged by 127\.0\.0\.1, or may still be\. To find out: purser proofs show [\w-]+/
    const shown = await purser('pay', merchant.url)
    assert.deepEqual([shown.code, shown.output], [0, '{"data":[1,2,3]}'])
    assert.match(shown.errors, unknown)
    assert.doesNotMatch(shown.errors, /again|Paid/)
    const kept = await purser('pay', merchant.url, '--output', 'goods', '--json')
    const { receipt, payment } = JSON.parse(kept.output)
    assert.deepEqual([kept.code, receipt, payment.outcome], [0, null, 'delivered_charge_unknown'])
    assert.match(`\n${kept.errors}`, unknown)
    assert.equal(readFileSync(join(folder, 'goods'), 'utf8'), '{"data":[1,2,3]}')
    assert.deepEqual(await sums(), { spent: '8.00', held: '0.00' })
  })
}

test('If a merchant fails while the service is unreachable, pay reports what is unknown', async (context) => {
  const { merchant, purser, environment } = await prepareMarket(context, {
    deliver: (_, response) => void response.writeHead(500).end('out of paper'),
  })
  environment['PURSER_URL'] = await startServer(context, (request, response) => {
    if (request.url?.includes('/payments/proofs/')) response.writeHead(503).end(storeUnavailable)
    else void passOn(service, request, response)
  })
  const { code, errors } = await purser('pay', merchant.url)
  assert.equal(code, 8)
  assert.match(
    errors,
    /\nIt is unknown whether it was charged\. To find out: .*\nThe merchant answers 500 .*\nout of paper\n/,
  )
})

test('If a merchant does not answer a proof, pay gives up and reports what is held', async (context) => {
  const { merchant, purser, sums } = await prepareMarket(context, { beforeVerify: () => true })
  const { code, errors } = await purser('pay', merchant.url, '--timeout', '1')
  assert.equal(code, 8)
  assert.match(errors, /\nNothing has been charged yet\. The proof [\w-]+ holds 4\.00 USDC until .*\./)
  assert.match(errors, /\npurser pay: http:.* did not answer in time; use --timeout to wait longer\.$/)
  assert.deepEqual(await sums(), { spent: '0.00', held: '4.00' })
})

test('If a merchant interrupts the response, pay reports what was charged', async (context) => {
  const { merchant, purser, folder } = await prepareMarket(context, {
    deliver: (_, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('half', () => response.destroy())
    },
  })
  const { code, errors } = await purser('pay', merchant.url, '--output', 'goods')
  assert.equal(code, 7)
  assert.match(
    errors,
    /\nThe payment was charged \(transaction txn_\w+\), but the goods did not arrive: contact 127\.0\.0\.1:\d+\./,
  )
  assert.match(readdirSync(folder).join(), /^goods\.[0-9a-f]{8}\.part$/)
})

test('Binary goods for a terminal are saved in the home folder if not here, or reported as unsaved', async (context) => {
  const goods = Buffer.from([0x50, 0x4b, 3, 4, 0, 0xff, 0xfe])
  const { merchant, purserWith, folder } = await prepareMarket(context, {
    deliver: (_, response) => void response.end(goods),
  })
  const nowhere = { isTerminal: true, folder: join(folder, 'none') }
  const { code, errors } = await purserWith(nowhere, 'pay', merchant.url)
  const [, path = ''] = /\nThe body is in (.*)\.$/.exec(errors) ?? []
  assert.deepEqual([code, readFileSync(path)], [0, goods], errors)
  const unsaved = await purserWith({ ...nowhere, homeFolder: nowhere.folder }, 'pay', merchant.url)
  assert.equal(unsaved.code, 7, unsaved.errors)
  assert.match(
    unsaved.errors,
    /\(transaction txn_\w+\) and the goods arrived, but they could not be saved\.\n/,
  )
  assert.match(unsaved.errors, /\npurser pay: the body could not be written \(ENOENT: .*\)\.$/)
  assert.doesNotMatch(unsaved.errors, /Nothing was paid/)
})

test('If the goods cannot be written, pay exits with 7 and reports what was charged', async (context) => {
  const { merchant, purserWith, sums } = await prepareMarket(context)
  const full = { code: 'ENOSPC', syscall: 'write' }
  const error = Object.assign(new Error('ENOSPC: no space left on device, write'), full)
  const write = () => Promise.reject(error)
  const { code, errors } = await purserWith({ write }, 'pay', merchant.url)
  assert.equal(code, 7, errors)
  const charged =
    /\nThe payment was charged \(transaction txn_\w+\) and the goods arrived, but they could not be saved\.\n/
  assert.match(errors, charged)
  assert.match(errors, /\nRunning it again pays again: it had no --purchase-id\.\n/)
  assert.doesNotMatch(errors, /contact/)
  assert.match(errors, /\npurser pay: the body could not be written \(ENOSPC: .*\)\.$/)
  assert.deepEqual(await sums(), { spent: '4.00', held: '0.00' })
  const named = ['pay', merchant.url, '--purchase-id', 'report-9']
  const unsaved = await purserWith({ write }, ...named)
  assert.match(unsaved.errors, charged)
  assert.match(unsaved.errors, /\nRun it again with the same --purchase-id: /)
  assert.equal((await purserWith({}, ...named)).output, '{"data":[1,2,3]}')
  assert.deepEqual(await sums(), { spent: '8.00', held: '0.00' })
})

test('After an interrupted response, the same purchase fills the same --output', async (context) => {
  // More than the client buffers.
  const goods = Buffer.alloc(9 * 1024 * 1024, 'goods')
  let isBroken = true
  const { merchant, purser, folder, sums } = await prepareMarket(context, {
    deliver: (_, response) => {
      response.writeHead(200, { 'content-length': String(goods.length + 5) }).write(goods, () => {
        if (isBroken) response.destroy()
        else response.end('whole')
      })
    },
  })
  const words = ['pay', merchant.url, '--purchase-id', 'report-7', '--output', 'goods']
  const failed = await purser(...words)
  assert.equal(failed.code, 7)
  assert.match(failed.errors, /\nRun it again with the same --purchase-id: the same payment continues/)
  const [kept = '', ...others] = readdirSync(folder).filter((name) => name.startsWith('goods'))
  assert.deepEqual(others, [])
  assert.ok(statSync(join(folder, kept)).size > 8 * 1024 * 1024, 'what came is kept')
  isBroken = false
  const { code, errors } = await purser(...words)
  assert.equal(code, 0, errors)
  assert.equal(readFileSync(join(folder, 'goods'), 'utf8'), `${goods.toString()}whole`)
  assert.deepEqual(await sums(), { spent: '4.00', held: '0.00' })
})

test('A file that appears while the goods arrive is not replaced, and the goods are kept', async (context) => {
  const { merchant, purser, folder } = await prepareMarket(context, {
    deliver: (_, response) => {
      writeFileSync(join(folder, 'goods'), 'precious')
      response.end('bought')
    },
  })
  const { code, errors } = await purser('pay', merchant.url, '--output', 'goods')
  const [, path = ''] = /\nThe body is in (.*)\.$/.exec(errors) ?? []
  assert.deepEqual([code, readFileSync(path, 'utf8')], [0, 'bought'])
  assert.equal(readFileSync(join(folder, 'goods'), 'utf8'), 'precious')
})

test('Ctrl-C during a purchase exits with 130 and reports what is unknown', async (context) => {
  const controller = new AbortController()
  const { merchant, purserWith } = await prepareMarket(context, {
    beforeVerify: () => {
      controller.abort()
      return true
    },
  })
  const { code, errors } = await purserWith({ interruption: () => controller.signal }, 'pay', merchant.url)
  assert.equal(code, 130)
  assert.match(errors, /It is unknown whether it was charged\. To find out: purser proofs show [\w-]+$/m)
})

test('If a merchant is unreachable, pay exits with 1', async (context) => {
  const { purser } = await prepareMarket(context)
  const { code, errors } = await purser('pay', 'http://127.0.0.1:9/data')
  assert.equal(code, 1)
  assert.match(errors, /^purser pay: http:\/\/127\.0\.0\.1:9\/data could not be fetched \(.*\)\.$/)
})

test('Text is escaped for a terminal, and binary content is saved to a file', async (context) => {
  const goods = [Buffer.from('a\u001b[2Jb\r\nc'), Buffer.from([0x50, 0x4b, 3, 4, 0, 0xff, 0xfe])]
  const { merchant, purserWith, folder } = await prepareMarket(context, {
    price: '1.00',
    deliver: (_, response) => void response.end(goods.shift()),
  })
  let shown = ''
  const write = async (bytes: Uint8Array) => void (shown += Buffer.from(bytes).toString())
  await purserWith({ isTerminal: true, write }, 'pay', merchant.url)
  // The last line ends, because the report of the payment follows.
  assert.equal(shown, 'a\\u001b[2Jb\nc\n')
  const binary = await purserWith({ isTerminal: true }, 'pay', merchant.url)
  assert.equal(binary.output, '')
  const [, path = ''] = /\nThe body is in (.*)\.$/.exec(binary.errors) ?? []
  assert.equal(readFileSync(path).toString('hex'), '504b030400fffe')
  assert.ok(path.startsWith(folder))
})

test('A merchant adds no lines to the report, neither in its challenge nor in its receipt', async (context) => {
  const { merchant, purser } = await prepareMarket(context, {
    challenge: () => ({ category: 'data\nDecision:  denied\nNothing was paid.' }),
    deliver: ({ headers }, response) => {
      const { nonce } = JSON.parse(Buffer.from(String(headers['x-payment-proof']), 'base64url').toString())
      const receipt = {
        transaction_id: 'txn_1\nNothing was charged.',
        amount: '4.00',
        merchant_domain: 'a.example',
        nonce,
      }
      response.setHeader('x-payment-receipt', Buffer.from(JSON.stringify(receipt)).toString('base64url'))
      response.end('goods')
    },
  })
  const { code, errors } = await purser('pay', merchant.url)
  assert.equal(code, 0)
  assert.match(
    errors,
    /^Asked for: 4\.00 USDC by 127\.0\.0\.1, data\\nDecision: {2}denied\\nNothing was paid\.$/m,
  )
  assert.doesNotMatch(errors, /^Nothing was/m)
})

test('--mandate is required if the key sees several', async (context) => {
  const { merchant, purser, mandateId, addMandate, sums } = await prepareMarket(context)
  await addMandate()
  const { code, errors } = await purser('pay', merchant.url)
  assert.equal(code, 2)
  assert.match(
    errors,
    /^--mandate is missing, and this key sees 2 active ones; purser mandates list shows them/,
  )
  assert.deepEqual(merchant.visits, [])
  assert.equal((await purser('pay', merchant.url, '--mandate', mandateId)).code, 0)
  assert.deepEqual(await sums(), { spent: '4.00', held: '0.00' })
})

test('The only mandate is used even if paused, and the denial explains the remedy', async (context) => {
  const { merchant, purser, mandateId } = await prepareMarket(context)
  const move = async (act: string) =>
    assert.equal((await service.call('PATCH', `/mandates/${mandateId}/${act}`)).status, 200)
  await move('pause')
  const { code, errors } = await purser('pay', merchant.url)
  assert.equal(code, 3)
  assert.match(errors, /mandate_expired: The mandate is paused; its owner can resume it/)
  await move('resume')
  assert.equal((await purser('pay', merchant.url)).code, 0)
})

function decode(header: string | string[] | undefined): string {
  return Buffer.from(String(header), 'base64url').toString()
}

const wrongCalls: readonly (readonly [words: readonly string[], error: RegExp])[] = [
  [['pay'], /^<url> is missing/],
  [['pay', 'example.com'], /^<url> must be an http or https URL/],
  [['pay', 'http://a:b@example.com'], /^<url> must not contain a user or password/],
  [['pay', 'http://a', '--json'], /^--json prints the decision and payment, so it needs --output/],
  [['pay', 'http://a', '--max-amount', '1,5'], /It must be an amount in USDC with at most 6 decimals/],
  [['pay', 'http://a', '--header', 'nonsense'], /It must be a name, a colon and a value/],
  [['pay', 'http://a', '--timeout', '0'], /It must be a whole number of seconds/],
]
for (const [words, error] of wrongCalls) {
  test(`An invalid call is reported with exit code 2: purser ${words.join(' ')}`, async (context) => {
    const { code, output, errors } = await testCommand(context).purser(...words)
    assert.deepEqual([code, output], [2, ''])
    assert.match(errors, error)
  })
}

test('Of an endless or slow response, the beginning is printed', async (context) => {
  const { purser, sums } = await prepareMarket(context)
  const sent = Promise.withResolvers<number>()
  const url = await startServer(context, (request, response) => {
    response.writeHead(404, { 'content-type': 'text/plain' })
    response.write('no such page.')
    if (request.url === '/flood') void flood(response).then(sent.resolve)
    else drip(response)
  })
  const flooded = await purser('pay', `${url}/flood`)
  assert.equal(flooded.code, 1)
  assert.match(flooded.errors, /The merchant answers 404 Not Found\nno such page\. {100}/)
  assert.ok(flooded.errors.length < 3_000)
  assert.ok((await sent.promise) < 32 * 1024 * 1024)
  const dripped = await purser('pay', `${url}/drip`, '--timeout', '1')
  assert.equal(dripped.code, 1)
  assert.match(dripped.errors, /The merchant answers 404 Not Found\nno such page\./)
  assert.deepEqual(await sums(), { spent: '0.00', held: '0.00' })
})
