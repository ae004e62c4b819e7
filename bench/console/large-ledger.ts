import { createIds } from '../../service/src/ids.ts'
import { hashApiKey } from '../../service/src/domain/api-key.ts'
import { auditEvent, systemActor } from '../../service/src/domain/audit.ts'
import { parseAmount } from '../../service/src/domain/money.ts'
import { holdDefaults } from '../../service/src/domain/new-records.ts'
import { holdGraceMs, validityWindowMs } from '../../service/src/domain/proof.ts'
import type { Agent, Caller, Mandate, Scope } from '../../service/src/domain/records.ts'
import type { Store } from '../../service/src/store/store.ts'
import { generousMandate } from '../../service/testing/ledgers/generous-mandate.ts'
import { seededRandom } from '../../service/testing/seeded-random.ts'

/** How large a ledger is made. */
export interface Size {
  readonly agents: number
  readonly mandatesOfAgent: number
  readonly sellers: number
  readonly transactions: number
}

/** The key that owns the ledger. */
export const ledgerKey = 'svc_sand_bench_console_ledger'

/** The contents of a filled ledger. */
export interface LargeLedger {
  readonly scope: Scope
  readonly mandates: readonly Mandate[]
}

/** How far back the transactions go. */
const spanMs = 30 * 24 * 3_600_000
const batchSize = 2_000

/** Fills a ledger through its store, without a service, with timestamps spread over a month. */
export async function fillLedger(store: Store, size: Size): Promise<LargeLedger> {
  const endMs = Date.now() - 60_000
  const startMs = endMs - spanMs
  let nowMs = startMs
  const random = seededRandom(20_261_121)
  const ids = createIds(() => nowMs, random.bytes)
  const accountId = ids.next('account')
  const scope: Scope = { accountId, environment: 'sandbox' }
  const event = (type: 'agent.created' | 'mandate.created' | 'seller.created', subjectId: string) =>
    auditEvent(systemActor, scope, { id: ids.next('auditEvent'), type, subjectId, data: {}, atMs: nowMs })
  const account = { id: accountId, name: 'Bench', email: 'bench@example.com', idpUserId: 'bench' }
  const keyId = ids.next('apiKey')
  const key = { ...scope, id: keyId, role: 'operator', agentId: null, label: null, hint: 'dger' } as const
  await store.createAccount(
    { ...account, createdAtMs: nowMs, disabledAtMs: null },
    [{ ...key, createdAtMs: nowMs, revokedAtMs: null, secretHash: hashApiKey(ledgerKey) }],
    [],
  )
  const sellers: { id: string; domain: string }[] = []
  for (let index = 0; index < size.sellers; index++) {
    const seller = {
      ...scope,
      id: ids.next('seller'),
      name: `Shop ${index}`,
      domain: `shop${index}.example.com`,
    }
    await store.createSeller(
      { ...seller, priceConfig: '{}', createdAtMs: nowMs, isPending: false },
      event('seller.created', seller.id),
    )
    sellers.push(seller)
  }
  const mandates: Mandate[] = []
  for (let index = 0; index < size.agents; index++) {
    const agent: Agent = {
      ...scope,
      id: ids.next('agent'),
      name: `agent ${index}`,
      description: null,
      capabilities: [],
      budgetPath: null,
      status: 'active',
      createdAtMs: nowMs,
      revokedAtMs: null,
    }
    await store.createAgent(agent, event('agent.created', agent.id))
    const made = Array.from({ length: size.mandatesOfAgent }, () =>
      generousMandate({
        ...scope,
        id: ids.next('mandate'),
        agentId: agent.id,
        maxTotalMicro: parseAmount('900000000000.00'),
        createdAtMs: nowMs,
      }),
    )
    await Promise.all(
      made.map((mandate) => store.createMandate(mandate, event('mandate.created', mandate.id))),
    )
    mandates.push(...made)
  }
  const caller: Caller = { ...scope, keyId, role: 'operator', agentId: null }
  for (let made = 0; made < size.transactions; made += batchSize) {
    const count = Math.min(batchSize, size.transactions - made)
    const making = Array.from({ length: count }, (_, index) => {
      nowMs = startMs + Math.floor(((made + index) / size.transactions) * spanMs)
      const mandate = mandates[random.below(mandates.length)]
      const seller = sellers[random.below(sellers.length)]
      if (!mandate || !seller) throw new Error('a ledger needs mandates and sellers')
      return makeTransaction(mandate, seller.domain)
    })
    await Promise.all(making)
  }
  return { scope, mandates }

  /** Four of five are payments; the others are evaluations, most of which are denied. */
  async function makeTransaction({ id: mandateId, agentId }: Mandate, merchantDomain: string): Promise<void> {
    const kind = random.below(100)
    const isDenied = kind >= 92
    const amountText = `${isDenied ? 20 : random.below(3)}.${String(random.below(99) + 1).padStart(2, '0')}`
    const terms = {
      agentId,
      mandateId,
      amountText,
      currency: 'USDC',
      resourceUrl: `https://${merchantDomain}/v1/reports/2026-11`,
    } as const
    const amountMicro = parseAmount(amountText)
    const transactionId = ids.next('transaction')
    const atMs = nowMs
    if (kind >= 80) {
      const known = { ...scope, id: transactionId, merchantDomain, category: 'data', createdAtMs: atMs }
      const { decision } = await store.evaluate({ ...terms, ...known, amountMicro })
      if ((decision === 'denied') !== isDenied) throw new Error(`an evaluation was ${decision}`)
      return
    }
    const nonce = ids.nonce()
    const times = { issuedAtMs: atMs, expiresAtMs: atMs + validityWindowMs + holdGraceMs }
    await store.issueProof({
      ...scope,
      ...terms,
      ...times,
      nonce,
      amountMicro,
      ...holdDefaults,
    })
    const attempt = { caller, nonce, merchantDomain, idempotencyKey: null, transactionId, nowMs: atMs }
    const { outcome } = await store.capture({ ...terms, ...attempt })
    if (outcome !== 'captured') throw new Error(`a payment was ${outcome}`)
  }
}
