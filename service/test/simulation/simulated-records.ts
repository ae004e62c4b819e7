import type { Limit } from '../../src/domain/limits.ts'
import { formatSum, type MicroUsdc } from '../../src/domain/money.ts'
import type { Caller, Mandate, Scope } from '../../src/domain/records.ts'
import { type Ids } from '../../src/ids.ts'
import { generousMandate } from '../../testing/ledgers/generous-mandate.ts'
import type { MemoryDatabase } from '../../testing/memory/memory-database.ts'
import type { Table, TableKey, TableRow } from '../../src/store/ledger/table.ts'
import { type Request } from '../faults/history.ts'
import { collectorDomain, ownDomain } from '../faults/market.ts'

export const environment = 'sandbox'

export function newSeller(scope: Scope, id: string, createdAtMs: number) {
  return {
    ...scope,
    id,
    name: 'shop',
    domain: collectorDomain,
    priceConfig: '{}',
    createdAtMs,
    isPending: false,
  }
}

export function newKey(
  scope: { readonly accountId: string; readonly environment: 'sandbox' },
  id: string,
  role: Caller['role'],
  nowMs: number,
) {
  const key = { ...scope, id, role, agentId: null, label: null, hint: '', secretHash: Buffer.from(id) }
  return { ...key, createdAtMs: nowMs, revokedAtMs: null }
}

/** Terms that allow every payment of the simulation. */
const narrowTerms = {
  allowedResources: [`https://${ownDomain}/report`, `https://${collectorDomain}/*`],
  categoryCheck: 'enforced' as const,
  metadata: { project: 'apollo' },
}

export function limitOf(ids: Ids, maxMicro: bigint, window: Limit['window'] = 'lifetime'): Limit {
  const maxAmountText = formatSum(maxMicro as MicroUsdc)
  const max = { maxAmountText, maxAmountMicro: String(maxMicro), maxCount: null }
  return { id: ids.next('limit'), window, ...max, per: null, action: 'deny' }
}

export function newMandate(
  request: {
    readonly accountId: string
    readonly environment: 'sandbox'
    readonly id: string
    readonly agentId: string
    readonly maxTotalMicro: bigint
    readonly maxPaymentMicro: bigint
    readonly approveAboveMicro: bigint | null
  },
  nowMs: number,
): Mandate {
  const { accountId, id, agentId } = request
  const above = request.approveAboveMicro as MicroUsdc | null
  const maxTotalMicro = request.maxTotalMicro as MicroUsdc
  return generousMandate({
    accountId,
    environment,
    id,
    agentId,
    maxTotalMicro,
    maxPerTransactionMicro: request.maxPaymentMicro as MicroUsdc,
    ...(maxTotalMicro % 2n === 0n && narrowTerms),
    approval: above && { above: formatSum(above), firstPurchaseAtSeller: false, required: 1 },
    createdAtMs: nowMs,
  })
}

/** The category of every payment of the simulation. */
export const category = 'data'

export function paymentOf(request: Extract<Request, { act: 'ask-proof' | 'evaluate' }>) {
  const { agentId, mandateId, domain } = request
  const amountMicro = request.amountMicro as MicroUsdc
  const resourceUrl = `https://${domain}/report`
  return {
    agentId,
    mandateId,
    amountText: formatSum(amountMicro),
    amountMicro,
    currency: 'USDC' as const,
    resourceUrl,
  }
}

/** The row with a key, as last committed. */
export function findRow<Of extends Table>(
  database: MemoryDatabase,
  table: Of,
  key: TableKey<Of>,
): TableRow<Of> | undefined {
  return database.row(table, key) as TableRow<Of> | undefined
}
