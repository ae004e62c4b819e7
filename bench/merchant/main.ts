import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startChild } from '../child.ts'
import { prepareExchanges, type Exchange, type Target } from '../flows.ts'
import { Histogram } from '../histogram.ts'
import { putUnderLoad } from '../load.ts'
import type { merchantActs } from './server.ts'
import { describeMachine } from '../report.ts'
import type { serverActs } from '../server.ts'
import { medianOf } from '../verdicts.ts'

/**
 * The cost of requiring payment for a merchant: the same handler unprotected and behind `requirePayment`,
 * alternating in one run. `npm run bench:merchant`, or with `-- --quick` for a first look.
 */
const isQuick = process.argv.includes('--quick')
const rounds = isQuick ? 3 : 7
const mandates = 1_000
const seedingClients = 64

const kinds = ['unprotected', 'challenge', 'paid', 'verify alone'] as const
type Kind = (typeof kinds)[number]

interface Block {
  readonly kind: Kind
  readonly clients: number
  readonly perSecond: number
  readonly latency: Histogram
  readonly merchantCpuMicros: number
  readonly serviceCpuMicros: number
  /** How long the merchant waited for the service, if it called it. */
  readonly waitedMicros: number
}

const resourcePath = '/v1/reports/2026-11'
/** The last rate of each kind of block, which determines how many proofs the next one needs. */
const rates = new Map<string, number>()

const folder = mkdtempSync(join(process.env['PURSER_BENCH_DIR'] ?? tmpdir(), 'purser-bench-'))
const flags = ['--max-semi-space-size=32']
const service = startChild<typeof serverActs>('../server.ts', flags)
const merchant = startChild<typeof merchantActs>('./merchant/server.ts', flags)
try {
  await measure()
} finally {
  await Promise.all([merchant.stop(), service.stop()])
  rmSync(folder, { recursive: true, force: true })
}

async function measure(): Promise<void> {
  const machine = describeMachine()
  const path = join(folder, 'bench.db')
  const target = await service.ask('open', { ledger: { kind: 'sqlite', path, groupCommit: true }, mandates })
  const serviceUrl = `http://127.0.0.1:${target.port}`
  const port = await merchant.ask('open', { serviceUrl, key: target.key })
  const run = (kind: Kind, clients: number, seconds: number) =>
    runBlock({ kind, clients, seconds, target, port })

  for (const kind of kinds) await run(kind, 64, 1)
  const many: Block[] = []
  const single: Block[] = []
  for (let round = 0; round < rounds; round++) {
    // Half of the rounds run in reverse order, so that no kind always has the better position.
    const order = round % 2 === 0 ? kinds : kinds.toReversed()
    for (const kind of order) many.push(await run(kind, 64, isQuick ? 0.6 : 1.5))
    for (const kind of order) single.push(await run(kind, 1, isQuick ? 0.3 : 0.5))
    if (process.stderr.isTTY) process.stderr.write(`round ${round + 1} of ${rounds}\r`)
  }
  const [proof] = await askForProofs(target, 1)
  assert(proof)
  const decodeMicros = await merchant.ask('decodeMicros', encode(proof))
  const { faults } = await service.ask('ledger')
  const { processor, processors, loadBefore, node } = machine
  console.log(
    `\n${processor}, ${processors} processors, Node ${node}, load before ${loadBefore.toFixed(1)}\n`,
  )
  console.log([...table(many), '', ...table(single), ''].join('\n'))
  const ratio = medianOf(
    perRound(many, 'paid').map((rate, round) => rate / (perRound(many, 'unprotected')[round] ?? 0)),
  )
  console.log(
    `A paid request, of an unprotected one with 64 clients: ${(ratio * 100).toFixed(1)} % of the rate\n`,
  )
  console.log(breakdown(single, decodeMicros).join('\n'))
  console.log(
    faults.length === 0 ? '\nLedger: every sum agrees' : `\nLedger: FAULTS\n${JSON.stringify(faults)}`,
  )
  if (faults.length > 0) process.exitCode = 1
}

async function runBlock(order: {
  readonly kind: Kind
  readonly clients: number
  readonly seconds: number
  readonly target: Target
  readonly port: number
}): Promise<Block> {
  const { kind, clients, seconds, target, port } = order
  const isPaying = kind === 'paid' || kind === 'verify alone'
  const exchanges = isPaying
    ? await preparePayments(order)
    : [get(kind === 'unprotected' ? '/free' : resourcePath)]
  let index = 0
  const next = () => (isPaying ? exchanges[index++] : exchanges[0])
  await merchant.ask('waitedMicros')
  const before = await cpuOf()
  const report = await putUnderLoad(kind === 'verify alone' ? target.port : port, clients, seconds, next)
  const after = await cpuOf()
  assert.equal(report.unexpected, 0, `${kind}: ${report.sample}`)
  const waitedMicros = await merchant.ask('waitedMicros')
  const perSecond = report.operations / report.seconds
  if (isPaying) rates.set(`${kind} ${clients}`, perSecond)
  return {
    kind,
    clients,
    perSecond,
    latency: new Histogram(report.latency),
    merchantCpuMicros: (after.merchant - before.merchant) / report.operations,
    serviceCpuMicros: (after.service - before.service) / report.operations,
    waitedMicros,
  }
}

/** Max payments that the block can use, estimated from the last one of its kind. */
async function preparePayments({
  kind,
  clients,
  seconds,
  target,
}: Parameters<typeof runBlock>[0]): Promise<Exchange[]> {
  const rate = rates.get(`${kind} ${clients}`) ?? (clients === 1 ? 2_000 : 8_000)
  const proofs = await askForProofs(target, Math.ceil(rate * seconds * 1.5) + clients)
  const { verify } = prepareExchanges(target)
  return proofs.map((proof) =>
    kind === 'paid'
      ? get(resourcePath, { status: 200, header: encode(proof) })
      : verify(`{"proof":${proof}}`),
  )
}

/** The JSON of this many proofs, over all mandates in turn. */
async function askForProofs(target: Target, count: number): Promise<string[]> {
  const { proof: requests } = prepareExchanges(target)
  const proofs: string[] = []
  let asked = 0
  const report = await putUnderLoad(target.port, seedingClients, Infinity, () => {
    const exchange = requests[asked % requests.length]
    if (asked++ >= count || !exchange) return undefined
    return {
      ...exchange,
      follow: (body) => void proofs.push(body.slice('{"proof":'.length, -1)),
    }
  })
  assert.equal(report.unexpected, 0, `a proof was refused: ${report.sample}`)
  return proofs
}

function get(path: string, paid?: { status: number; header: string }): Exchange {
  const proof = paid ? `X-Payment-Proof: ${paid.header}\r\n` : ''
  const status = paid?.status ?? (path === '/free' ? 200 : 402)
  return { request: Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${proof}\r\n`), status }
}

function encode(json: string): string {
  return Buffer.from(json).toString('base64url')
}

async function cpuOf(): Promise<{ merchant: number; service: number }> {
  const [ofMerchant, ofService] = await Promise.all([merchant.ask('cpu'), service.ask('cpu')])
  return { merchant: ofMerchant.user + ofMerchant.system, service: ofService.user + ofService.system }
}

function perRound(blocks: readonly Block[], kind: Kind): number[] {
  return blocks.filter((block) => block.kind === kind).map(({ perSecond }) => perSecond)
}

function table(blocks: readonly Block[]): string[] {
  const head = ['per second', 'p50 ms', 'p99 ms', 'merchant µs each', 'service µs each']
  const line = (name: string, cells: readonly string[]) =>
    name.padEnd(26) + cells.map((cell, index) => cell.padStart((head[index] ?? '').length + 2)).join('')
  const rows = kinds.map((kind) => {
    const alike = blocks.filter((block) => block.kind === kind)
    const clients = alike[0]?.clients === 1 ? 'one client' : `${alike[0]?.clients} clients`
    return line(`${kind}, ${clients}`, [
      Math.round(medianOf(alike.map(({ perSecond }) => perSecond))).toLocaleString('en'),
      (percentile(alike, 0.5) / 1000).toFixed(2),
      (percentile(alike, 0.99) / 1000).toFixed(2),
      medianOf(alike.map(({ merchantCpuMicros }) => merchantCpuMicros)).toFixed(1),
      medianOf(alike.map(({ serviceCpuMicros }) => serviceCpuMicros)).toFixed(1),
    ])
  })
  return [line('', head), ...rows]
}

function percentile(blocks: readonly Block[], share: number): number {
  const all = new Histogram()
  for (const { latency } of blocks) all.add(latency)
  return all.percentile(share)
}

/** The breakdown of one paid request without concurrency, in microseconds. */
function breakdown(single: readonly Block[], decodeMicros: number): string[] {
  const p50 = (kind: Kind) =>
    percentile(
      single.filter((block) => block.kind === kind),
      0.5,
    )
  const paid = p50('paid')
  const unprotected = p50('unprotected')
  const verify = p50('verify alone')
  const asking = medianOf(
    single.filter(({ kind }) => kind === 'paid').map(({ waitedMicros }) => waitedMicros),
  )
  const parts: [name: string, micros: number][] = [
    ['the handler and its HTTP, as unprotected', unprotected],
    ['verify itself, over a bare connection', verify],
    ['additional HTTP cost of fetch to the service', asking - verify],
    ['reading the proof and comparing the resource', decodeMicros],
    ['the rest: client, receipt, timers', paid - unprotected - asking - decodeMicros],
  ]
  return [
    `One paid request with one client takes ${Math.round(paid)} µs:`,
    ...parts.map(([name, micros]) => `  ${name.padEnd(48)} ${micros.toFixed(0).padStart(6)} µs`),
  ]
}
