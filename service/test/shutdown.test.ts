import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as openRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test, type TestContext } from 'node:test'

import type { Proof } from '@purser/wire/payments'

import { stopTimeoutMs } from '../src/limits.ts'
import { readPaidFromFile } from '../testing/ledgers/closed-ledger.ts'
import {
  allAtOnce,
  buyUntilGone,
  labelOf,
  makePurchase,
  openLoadClient,
  retryVerifications,
  type LoadClient,
} from '../testing/load.ts'
import { postgres18 } from '../testing/postgres.ts'
import type { Purchase } from '../testing/service.ts'
import { makeFolder, startProcess, type ReadyProcess } from './process.ts'

const key = 'svc_sand_shutdown_test'
const settings = { PURSER_BOOTSTRAP_SANDBOX_KEY: key, PURSER_LOG_LEVEL: 'warn' }

/** Max duration of a stop in addition to its waiting: the process, the file, a busy machine. */
const slackMs = 3_000

test('At SIGTERM every accepted request is answered, new connections are refused, and the exit code is 0', async (context) => {
  const folder = makeFolder(context)
  const service = await startProcess(context, { folder, settings })
  const client = openClient(context, service)
  const purchase = await makePurchase(client)
  const proofs = await issueProofs(client, purchase, 20)
  const held = await Promise.all(proofs.map((proof) => openVerification(service.url, proof)))

  const startedAtMs = performance.now()
  const ended = service.kill('SIGTERM')
  await service.sees(/Purser is stopping/)
  await untilRefused(service.url)
  const answers = await Promise.all(held.map((verification) => verification.finish()))
  const { code, stderr } = await ended

  assert.ok(
    performance.now() - startedAtMs < stopTimeoutMs / 2,
    'the service waits for nothing that has finished',
  )
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  const paid = await readPaid(folder, purchase)
  assert.deepEqual(paid.sort(), answers.map(({ body }) => body.transaction_id as string).sort())
})

const unread = [
  { gone: ['stdout'] },
  { gone: ['stderr'] },
  { gone: ['stdout', 'stderr'] },
  // Other commands exit when nobody reads their output.
  { gone: ['stdout'], program: 'purser.ts', flags: ['serve'] },
] as const
for (const { gone, ...how } of unread) {
  const called = 'program' in how ? `, as purser ${how.flags[0]}` : ''
  test(`At SIGTERM accepted requests are answered even if nobody reads ${gone.join(' and ')} any more${called}`, async (context) => {
    const folder = makeFolder(context)
    const service = await startProcess(context, { folder, settings, ...how })
    const client = openClient(context, service)
    const purchase = await makePurchase(client)
    const [proof] = (await issueProofs(client, purchase, 1)) as [Proof]
    const held = await openVerification(service.url, proof)
    for (const stream of gone) service.stopReading(stream)
    const ended = service.kill('SIGTERM')
    await untilRefused(service.url)
    const { status } = await held.finish()
    const { code, signal, stderr } = await ended
    assert.deepEqual({ status, code, signal }, { status: 200, code: 0, signal: null })
    const told = 'Standard output can no longer be written (EPIPE); the service continues.\n'
    assert.equal(stderr, gone.join() === 'stdout' ? told : '')
    assert.equal((await readPaid(folder, purchase)).length, 1)
  })
}

test('At SIGTERM under load nothing acknowledged is lost, and everything else can be retried', async (context) => {
  const folder = makeFolder(context)
  const service = await startProcess(context, { folder, settings })
  const client = openClient(context, service)
  const purchase = await makePurchase(client)
  const { charged, unknown, ended } = await buyUntilGone(client, purchase, () => service.kill('SIGTERM'))
  assert.deepEqual({ code: ended?.code, stderr: ended?.stderr }, { code: 0, stderr: '' })

  const again = await startProcess(context, { folder, settings })
  const retries = openClient(context, again)
  charged.push(...(await retryVerifications(retries, unknown)))
  assert.equal((await again.kill('SIGTERM')).code, 0)
  context.diagnostic(`${charged.length} paid, ${unknown.length} of them known only after a retry`)
  const paid = await readPaid(folder, purchase)
  assert.deepEqual(paid.sort(), charged.sort())
})

test('SIGHUP does not stop the service, and a connection without a request does not delay its stop', async (context) => {
  const service = await startProcess(context, { folder: makeFolder(context), settings })
  const { hostname, port } = new URL(service.url)
  const idle = connect(Number(port), hostname)
  context.after(() => idle.destroy())
  idle.on('error', () => undefined)
  await once(idle, 'connect')
  process.kill(service.pid, 'SIGHUP')
  process.kill(service.pid, 'SIGHUP')
  // An answer on another connection also shows that the service has accepted this one.
  for (let count = 0; count < 3; count++) {
    const answer = await fetch(`${service.url}/agents`, { headers: { authorization: `Bearer ${key}` } })
    assert.equal(answer.status, 200)
  }

  const startedAtMs = performance.now()
  const { code, signal } = await service.kill('SIGTERM')
  assert.deepEqual([code, signal], [0, null])
  assert.ok(performance.now() - startedAtMs < stopTimeoutMs / 2)
})

describe('Stops that wait', { concurrency: true }, () => {
  test('A client that never completes its request delays a stopping service only up to the limit', async (context) => {
    const folder = makeFolder(context)
    const service = await startProcess(context, { folder, settings })
    const slow = await openHalfRequest(context, service.url)
    const startedAtMs = performance.now()
    const { code } = await service.kill('SIGTERM')
    const tookMs = performance.now() - startedAtMs
    assert.equal(code, 0)
    assert.ok(tookMs < stopTimeoutMs + slackMs, `it took ${tookMs} ms`)
    await slow.closed
  })

  for (const workers of ['1', '2']) {
    test(`With PURSER_DRAIN_SECONDS, SIGTERM turns /readyz to 503 while requests go on with Connection: close, in ${workers} process(es); Ctrl-C does not wait`, async (context) => {
      const folder = makeFolder(context)
      const { url, drop } = await postgres18.createDatabase()
      context.after(drop)
      const drained = {
        ...settings,
        PURSER_DATABASE: url,
        PURSER_WORKERS: workers,
        PURSER_DRAIN_SECONDS: '1',
      }
      const service = await startProcess(context, { folder, settings: drained })
      const client = openClient(context, service)
      const purchase = await makePurchase(client)
      const before = await client.askForProof(purchase)
      assert.equal(before.headers['connection'], 'keep-alive')

      const ended = service.kill('SIGTERM')
      await service.sees(/Purser is stopping: it accepts requests for another 1 s/)
      // A worker gets the message a moment later.
      let ready = await client.send('GET', '/readyz')
      while (ready.status === 200) ready = await client.send('GET', '/readyz')
      assert.deepEqual([ready.status, ready.body], [503, { detail: 'shutting_down' }])
      const healthy = await client.send('GET', '/healthz')
      const paid = await client.verify(before.body.proof as Proof)
      assert.deepEqual([healthy.status, labelOf(paid)], [200, '200 ok'])
      if (workers === '1') {
        assert.deepEqual([healthy.headers['connection'], paid.headers['connection']], ['close', 'close'])
      }
      const { code, stderr } = await ended
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })

      const again = await startProcess(context, {
        folder,
        settings: { ...drained, PURSER_DRAIN_SECONDS: '60' },
      })
      const startedAtMs = performance.now()
      assert.equal((await again.kill('SIGINT')).code, 0)
      assert.ok(performance.now() - startedAtMs < stopTimeoutMs)
    })
  }
})

test('A second SIGTERM ends the service at once', async (context) => {
  const folder = makeFolder(context)
  const service = await startProcess(context, { folder, settings })
  await openHalfRequest(context, service.url)
  void service.kill('SIGTERM')
  await service.sees(/Purser is stopping/)
  const startedAtMs = performance.now()
  const { code } = await service.kill('SIGTERM')
  assert.equal(code, 1)
  assert.ok(performance.now() - startedAtMs < slackMs)
})

function openClient(context: TestContext, { url }: ReadyProcess): LoadClient {
  const client = openLoadClient(url, key, 32)
  context.after(client.close)
  return client
}

async function issueProofs(client: LoadClient, purchase: Purchase, count: number): Promise<Proof[]> {
  const answers = await allAtOnce(count, () => client.askForProof(purchase))
  return answers.map(({ body }) => body.proof as Proof)
}

/**
 * A verification that the service has accepted, as its `100 Continue` shows, and whose body is not sent yet.
 */
async function openVerification(url: string, proof: Proof) {
  const body = JSON.stringify({ proof, merchant_domain: 'api.example.com', expected_amount: proof.amount })
  const outgoing = openRequest(`${url}/v1/payments/verify`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${key}`,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      expect: '100-continue',
    },
  })
  outgoing.flushHeaders()
  await once(outgoing, 'continue')
  return { finish: () => finish(outgoing, body) }
}

async function finish(outgoing: ClientRequest, rest: string) {
  outgoing.end(rest)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  return { status: incoming.statusCode, body: JSON.parse(await text(incoming)) as Record<string, unknown> }
}

/** A connection whose request was accepted and never ends. */
async function openHalfRequest(context: TestContext, url: string): Promise<{ closed: Promise<unknown> }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  context.after(() => void socket.destroy())
  socket.on('error', () => undefined)
  const closed = new Promise<unknown>((resolve) => socket.on('close', resolve))
  socket.write(
    `POST /agents HTTP/1.1\r\nHost: purser\r\nAuthorization: Bearer ${key}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n{"name":',
  )
  const [said] = (await once(socket, 'data')) as [Buffer]
  assert.match(said.toString(), /^HTTP\/1\.1 100 /)
  return { closed }
}

/** Resolves once the address accepts no connections any more. */
async function untilRefused(url: string): Promise<void> {
  for (;;) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const refused = await new Promise<boolean>((resolve) => {
      socket.on('connect', () => resolve(false))
      socket.on('error', (error) => resolve('code' in error && error.code === 'ECONNREFUSED'))
    })
    socket.destroy()
    if (refused) return
  }
}

/** What was paid under the purchase's mandate, from the file that the service has closed. */
function readPaid(folder: string, { mandateId }: Purchase): Promise<string[]> {
  return readPaidFromFile(join(folder, 'data/purser.db'), { key, mandateId })
}
