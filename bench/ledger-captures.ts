import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import { auditEvent } from '../service/src/domain/audit.ts'
import { formatSum, type MicroUsdc } from '../service/src/domain/money.ts'
import type { Caller, Hold, Mandate } from '../service/src/domain/records.ts'
import { createIds } from '../service/src/ids.ts'
import { createAccount } from '../service/src/store/ledger/operations/accounts.ts'
import { createAgent } from '../service/src/store/ledger/operations/agents.ts'
import { createMandate } from '../service/src/store/ledger/operations/mandates.ts'
import { capture, issueProof } from '../service/src/store/ledger/operations/payments.ts'
import { SqliteLedger } from '../service/src/store/ledger/sqlite/ledger-thread.ts'
import { ledgerSteps } from '../service/src/store/ledger/sqlite/schema.ts'
import { openSqliteFile } from '../service/src/store/sqlite/open.ts'
import { openSqliteStore } from '../service/src/store/sqlite/sqlite-store.ts'
import type { Capture } from '../service/src/store/store.ts'

// Captures of the new ledger and of today's store, in turns, each through its thread on a file of its own:
// node bench/ledger-captures.ts [--clients 64] [--mandates 1000] [--rounds 5] [--seconds 2] [--folder .]

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '64' },
    mandates: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    folder: { type: 'string', default: '.' },
  },
})
const clients = Number(values.clients)
const seconds = Number(values.seconds)

const ids = createIds(Date.now)
const accountId = ids.next('account')
const scope = { accountId, environment: 'sandbox' } as const
const caller: Caller = { ...scope, keyId: ids.next('apiKey'), role: 'owner', agentId: null }
const agentId = ids.next('agent')
const mandateIds = Array.from({ length: Number(values.mandates) }, () => ids.next('mandate'))
const resourceUrl = 'https://shop.example/v1/reports/2026-11'
const manyMicro = 1_000_000_000_000n as MicroUsdc

/** What is measured: a ledger with its mandates, which issues proofs and captures them. */
interface Contestant {
  readonly name: string
  readonly issue: (hold: Hold) => Promise<unknown>
  readonly capture: (call: Capture) => Promise<{ readonly outcome: string }>
  readonly bytes: () => number
  readonly close: () => Promise<void>
}

const folder = mkdtempSync(join(values.folder, 'ledger-captures-'))
try {
  const contestants = [await openToday(), await openNew()]
  const results = new Map<string, { perSecond: number; cpuMicros: number }[]>()
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const contestant of round % 2 === 0 ? contestants : contestants.toReversed()) {
      const result = await measure(contestant)
      results.set(contestant.name, [...(results.get(contestant.name) ?? []), result])
    }
  }
  for (const { name, bytes } of contestants) {
    const rounds = results.get(name) ?? []
    const rates = rounds.map(({ perSecond }) => Math.round(perSecond))
    const cpu = median(rounds.map(({ cpuMicros }) => cpuMicros)).toFixed(1)
    console.log(
      `${name}: ${median(rates)}/s (${rates.join(' ')}), ${cpu} µs of CPU each, ${bytes()} bytes on disk`,
    )
  }
  const [today, other] = contestants.map(({ name }) => results.get(name) ?? [])
  const ratios = (other ?? []).map(({ perSecond }, index) => perSecond / (today?.[index]?.perSecond ?? 0))
  console.log(`new / today: ${median(ratios).toFixed(2)} (${ratios.map((one) => one.toFixed(2)).join(' ')})`)
  for (const { close } of contestants) await close()
} finally {
  rmSync(folder, { recursive: true })
}

async function measure({ issue, capture }: Contestant) {
  const holds = Array.from({ length: Math.ceil(seconds * (clients === 1 ? 8_000 : 40_000)) }, (_, index) =>
    newHold(mandateIds[index % mandateIds.length]!),
  )
  for (let start = 0; start < holds.length; start += 1_000) {
    await Promise.all(holds.slice(start, start + 1_000).map(issue))
  }
  // What the proofs have left in the log is copied first.
  await sleep(500)
  let next = 0
  const cpu = process.cpuUsage()
  const beganMs = performance.now()
  const client = async () => {
    while (next < holds.length && performance.now() - beganMs < seconds * 1_000) {
      const { outcome } = await capture(captureOf(holds[next++]!))
      if (outcome !== 'captured') throw new Error(outcome)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const tookMs = performance.now() - beganMs
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: (next / tookMs) * 1_000, cpuMicros: (user + system) / next }
}

async function openToday(): Promise<Contestant> {
  const path = join(folder, 'today.db')
  const store = openSqliteStore({ path, ownThread: true })
  await store.createAccount(newAccount(), [], [])
  await store.createAgent(newAgent(), event('agent.created', agentId))
  for (const id of mandateIds) await store.createMandate(newMandate(id), event('mandate.created', id))
  return {
    name: "today's store",
    issue: (hold) => store.issueProof(hold),
    capture: (call) => store.capture(call),
    bytes: () => statSync(path).size,
    close: () => store.close(),
  }
}

async function openNew(): Promise<Contestant> {
  const file = openSqliteFile(join(folder, 'new.db'), ledgerSteps)
  const ledger = new SqliteLedger({ path: file.path })
  await ledger.run(createAccount, { account: newAccount(), keys: [], events: [] })
  await ledger.run(createAgent, { agent: newAgent(), event: event('agent.created', agentId) })
  for (const id of mandateIds) {
    await ledger.run(createMandate, { mandate: newMandate(id), event: event('mandate.created', id) })
  }
  return {
    name: 'new ledger',
    issue: (hold) => ledger.run(issueProof, { hold }),
    capture: (call) => ledger.run(capture, { ...call, payerId: accountId }),
    bytes: () => statSync(file.path).size,
    close: async () => {
      await ledger.close()
      file.close()
    },
  }
}

function event(type: 'agent.created' | 'mandate.created', subjectId: string) {
  const id = ids.next('auditEvent')
  return auditEvent(caller, scope, { id, type, subjectId, data: {}, atMs: Date.now() })
}

function newAccount() {
  const account = { id: accountId, name: 'Bench', email: 'bench@example.com', idpUserId: 'bench' }
  return { ...account, createdAtMs: Date.now(), disabledAtMs: null }
}

function newAgent() {
  const agent = { ...scope, id: agentId, name: 'buyer', description: null, capabilities: [] }
  return { ...agent, status: 'active' as const, createdAtMs: Date.now(), revokedAtMs: null }
}

function newMandate(id: string): Mandate {
  return {
    ...scope,
    id,
    agentId,
    purpose: 'Buy market reports for the research team',
    maxTotalText: formatSum(manyMicro),
    maxTotalMicro: manyMicro,
    maxPerTransactionText: formatSum(manyMicro),
    maxPerTransactionMicro: manyMicro,
    currency: 'USDC',
    allowedSellers: ['shop.example'],
    allowedCategories: [],
    expiresAtText: '2036-01-01T00:00:00Z',
    expiresAtMs: Date.UTC(2036, 0),
    status: 'active',
    spentMicro: 0n as MicroUsdc,
    heldMicro: 0n as MicroUsdc,
    createdAtMs: Date.now(),
    updatedAtMs: Date.now(),
  }
}

function newHold(mandateId: string): Hold {
  const issuedAtMs = Date.now()
  return {
    ...scope,
    nonce: ids.nonce(),
    agentId,
    mandateId,
    amountText: '1.00',
    amountMicro: 1_000_000n as MicroUsdc,
    currency: 'USDC',
    resourceUrl,
    status: 'open',
    issuedAtMs,
    expiresAtMs: issuedAtMs + 360_000,
    transactionId: null,
  }
}

function captureOf({ nonce, mandateId }: Hold): Capture {
  const terms = { nonce, agentId, mandateId, amountText: '1.00', currency: 'USDC', resourceUrl }
  const merchant = { merchantDomain: 'shop.example', idempotencyKey: null }
  return { ...terms, ...merchant, caller, transactionId: ids.next('transaction'), nowMs: Date.now() }
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}
