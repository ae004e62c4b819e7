import { createIds } from '../../service/src/ids.ts'
import { hashApiKey } from '../../service/src/domain/api-key.ts'
import { auditEvent, systemActor } from '../../service/src/domain/audit.ts'
import { parseAmount, type MicroUsdc } from '../../service/src/domain/money.ts'
import type { Agent, Mandate, Scope } from '../../service/src/domain/records.ts'
import type { Store } from '../../service/src/store/store.ts'
import { seededRandom } from '../../service/testing/seeded-random.ts'

/** How large a ledger is made. */
export interface Size {
  readonly agents: number
  readonly mandatesOfAgent: number
  readonly sellers: number
  readonly transactions: number
}

/** A value of a row, and the rows of a table in the order of its columns. */
export type Value = string | bigint | number | null
export interface Rows {
  readonly table: 'transactions' | 'holds'
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Value[])[]
}

/** The key that owns the ledger. */
export const ledgerKey = 'svc_sand_bench_console_ledger'

/** A ledger that is filled without a service: its first records, and then transactions by the thousand. */
export interface LargeLedger {
  readonly scope: Scope
  readonly mandates: readonly Mandate[]
  /** What each mandate has spent, by its place, once all rows were taken. */
  readonly spentMicro: readonly bigint[]
  readonly batches: () => Generator<Rows[]>
}

/** How far back the transactions go. */
const spanMs = 30 * 24 * 3_600_000
const batchSize = 2_000

/** Makes accounts, agents, mandates and sellers through the store, as a service would. */
export async function beginLedger(store: Store, size: Size): Promise<LargeLedger> {
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
      status: 'active',
      createdAtMs: nowMs,
      revokedAtMs: null,
    }
    await store.createAgent(agent, event('agent.created', agent.id))
    const made = Array.from({ length: size.mandatesOfAgent }, () =>
      newMandate(agent, ids.next('mandate'), nowMs),
    )
    await Promise.all(
      made.map((mandate) => store.createMandate(mandate, event('mandate.created', mandate.id))),
    )
    mandates.push(...made)
  }
  const spentMicro = mandates.map(() => 0n)

  function* batches(): Generator<Rows[]> {
    for (let made = 0; made < size.transactions; made += batchSize) {
      const count = Math.min(batchSize, size.transactions - made)
      const transactions: Value[][] = []
      const holds: Value[][] = []
      for (let index = 0; index < count; index++) {
        nowMs = startMs + Math.floor(((made + index) / size.transactions) * spanMs)
        const place = random.below(mandates.length)
        const mandate = mandates[place]
        const seller = sellers[random.below(sellers.length)]
        if (!mandate || !seller) continue
        const id = ids.next('transaction')
        const kind = random.below(100)
        const isPaid = kind < 80
        const isDenied = kind >= 92
        const amountText = `${random.below(3)}.${String(random.below(99) + 1).padStart(2, '0')}`
        const amountMicro = parseAmount(amountText)
        const nonce = isPaid ? ids.nonce() : null
        const resource = `https://${seller.domain}/v1/reports/2026-11`
        const before = spentMicro[place] ?? 0n
        const [reasonCode, reasonDetail] = isPaid
          ? [null, null]
          : isDenied
            ? (denials[random.below(denials.length)] ?? [null, null])
            : ['within_policy', null]
        transactions.push(
          // prettier-ignore
          [
            accountId, id, 'sandbox', 'payer', isPaid ? 'paid' : isDenied ? 'denied' : 'approved',
            mandate.agentId, mandate.id, amountText, amountMicro, 'USDC', resource, seller.domain,
            accountId, seller.id, isPaid ? null : 'data', reasonCode, reasonDetail,
            nonce, nowMs, isDenied ? 8 : null, isPaid ? null : before, isPaid ? keyId : null,
          ],
        )
        if (!isPaid) continue
        spentMicro[place] = before + amountMicro
        holds.push(
          // prettier-ignore
          [
            accountId, nonce, 'sandbox', mandate.agentId, mandate.id, amountText, amountMicro, 'USDC', resource,
            'captured', nowMs, nowMs + 360_000, id, keyId, seller.domain, null, before, 0n,
          ],
        )
      }
      yield [
        { table: 'transactions', columns: columns.transactions, rows: transactions },
        { table: 'holds', columns: columns.holds, rows: holds },
      ]
    }
  }

  return { scope, mandates, spentMicro, batches }
}

const denials: readonly (readonly [code: string, detail: string])[] = [
  ['amount_exceeds_per_transaction_limit', '20.00 > 10.00, the limit per payment.'],
  ['merchant_not_allowed', 'other.example.com is not an allowed seller; the mandate allows none.'],
  ['total_budget_exceeded', '99.00 spent + 2.00 > 100.00, the total budget; 1.00 is left.'],
]

const columns = {
  transactions:
    'account_id,id,environment,side,status,agent_id,mandate_id,amount_text,amount_micro,currency,resource_url,merchant_domain,seller_account_id,seller_id,category,reason_code,reason_detail,nonce,created_at_ms,failed_check,spent_before_micro,collected_by'.split(
      ',',
    ),
  holds:
    'account_id,nonce,environment,agent_id,mandate_id,amount_text,amount_micro,currency,resource_url,status,issued_at_ms,expires_at_ms,transaction_id,captured_by,merchant_domain,idempotency_key,spent_before_micro,held_before_micro'.split(
      ',',
    ),
}

function newMandate(agent: Agent, id: string, nowMs: number): Mandate {
  const total = '900000000000.00'
  return {
    accountId: agent.accountId,
    environment: agent.environment,
    id,
    agentId: agent.id,
    purpose: 'Buy research data',
    maxTotalText: total,
    maxTotalMicro: parseAmount(total),
    maxPerTransactionText: '10.00',
    maxPerTransactionMicro: parseAmount('10.00'),
    currency: 'USDC',
    allowedSellers: ['*'],
    allowedCategories: [],
    expiresAtText: '2099-01-01T00:00:00Z',
    expiresAtMs: Date.UTC(2099, 0, 1),
    status: 'active',
    spentMicro: 0n as MicroUsdc,
    heldMicro: 0n as MicroUsdc,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
}
