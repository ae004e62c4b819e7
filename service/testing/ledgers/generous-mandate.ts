import { formatSum, parseAmount } from '../../src/domain/money.ts'
import { mandateDefaults } from '../../src/domain/new-records.ts'
import type { Mandate } from '../../src/domain/records.ts'

type Named = Pick<Mandate, 'accountId' | 'environment' | 'id' | 'agentId' | 'createdAtMs'>

/** A new mandate that allows every seller; the fields override. Amounts and expiry as text follow from the numbers. */
export function generousMandate(fields: Named & Partial<Mandate>): Mandate {
  const {
    maxTotalMicro = parseAmount('100.00'),
    maxPerTransactionMicro = parseAmount('10.00'),
    expiresAtMs = Date.UTC(2099, 0, 1),
  } = fields
  return {
    purpose: 'Buy research data',
    maxTotalText: formatSum(maxTotalMicro),
    maxTotalMicro,
    maxPerTransactionText: formatSum(maxPerTransactionMicro),
    maxPerTransactionMicro,
    currency: 'USDC',
    allowedSellers: ['*'],
    allowedCategories: [],
    limits: null,
    budgetPath: null,
    expiresAtText: new Date(expiresAtMs).toISOString().replace('.000', ''),
    expiresAtMs,
    ...mandateDefaults,
    updatedAtMs: fields.createdAtMs,
    ...fields,
  }
}
