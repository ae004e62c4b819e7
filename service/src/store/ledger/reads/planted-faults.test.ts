import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { openPostgres, openSqlite, type DriverBed } from '../../../../test/simulation/driver-beds.ts'
import { LedgerTenant } from '../../../../testing/ledger-tenant.ts'
import { postgresServers } from '../../../../testing/postgres.ts'
import { createIds } from '../../../ids.ts'
import type { Limit, Tally } from '../../../domain/limits.ts'
import type { MicroUsdc } from '../../../domain/money.ts'
import { activityDimensions } from '../activity.ts'
import { Ledger } from '../ledger.ts'
import { addUpActivity } from '../operations/activity.ts'
import { amendMandate } from '../operations/amendments.ts'
import { decideApproval } from '../operations/approval-decisions.ts'
import { evaluate } from '../operations/evaluations.ts'
import { createBudget } from '../operations/limits/budgets.ts'
import { moveMandate } from '../operations/mandates.ts'
import { authorize } from '../operations/authorizations.ts'
import { issueProof } from '../operations/payments.ts'
import { capture } from '../operations/captures.ts'
import { refund } from '../operations/refunds.ts'
import { createSeller } from '../operations/sellers.ts'
import { readerOn } from '../postgres/postgres-reader.ts'
import { readerOf } from '../sqlite/sqlite-reader.ts'
import type { Table, TableRow } from '../table.ts'
import {
  accounts,
  activity,
  agentAccounts,
  agents,
  apiKeys,
  authorizations,
  approvals,
  budgetUsage,
  budgets,
  entries,
  evaluations,
  identities,
  keyHashes,
  mandateAccounts,
  mandates,
  mandateVersions,
  openApprovals,
  orders,
  payments,
  refunds,
  sellerDomains,
  subjectUsage,
  type MandateUsage,
} from '../tables.ts'
import { findLedgerFaults } from './faults.ts'
import { noOptionalFacts } from '../../../domain/records.ts'
import type { Reader } from '../../sql.ts'
import { inTransaction } from '../../../../testing/transactions.ts'

interface Bed extends DriverBed {
  readonly reader: Reader
}

const beds: readonly {
  readonly name: string
  readonly missing?: string | undefined
  readonly open: () => Promise<Bed>
}[] = [
  {
    name: 'SQLite',
    open: async () => {
      const bed = await openSqlite()
      return { ...bed, reader: readerOf(bed.database) }
    },
  },
  ...postgresServers
    .filter(({ isDistributed }) => !isDistributed)
    .map((server) => ({
      name: server.name,
      missing: server.missing,
      open: async () => {
        const bed = await openPostgres(server)
        return { ...bed, reader: readerOn(bed.pool) }
      },
    })),
]

/** A row of a table, its replacement (none to remove it), and the faults that are then found. */
interface Planted {
  readonly name: string
  readonly table: Table
  readonly isIt?: (row: never) => boolean
  readonly now?: (row: never) => Readonly<Record<string, unknown>>
  readonly isAdded?: boolean
  readonly faults: readonly string[]
}

function planted<Of extends Table>(
  name: string,
  table: Of,
  faults: readonly string[],
  now?: (row: TableRow<Of>) => Readonly<Record<string, unknown>>,
  { isIt, isAdded }: { readonly isIt?: (row: TableRow<Of>) => boolean; readonly isAdded?: boolean } = {},
): Planted {
  return { name, table, faults, ...(now && { now }), ...(isIt && { isIt }), ...(isAdded && { isAdded }) }
}

const spent = 'spent differs from the sum of its captured payments without refunds'
const held = 'held differs from the sum of its open payments'
const counts = 'it counts other open payments than there are'
const authorized = 'authorized differs from the sum of its authorized payments'
const authorizedCount = 'it counts other authorized payments than there are'
const noDeadline = 'authorized without its deadline'
const strayDeadline = 'a deadline without its authorized payment'
const refunded = 'refunded differs from the sum of its refunds, or exceeds what was captured'
const noEntryOfRefund = 'a refund without its entry'
const noRefund = 'an entry without its refund'
const noRefundOfPayer = 'a refund without its entry in the account that has paid'
const noEntry = 'captured without its entry'
const noPayment = 'an entry without its captured payment'
const noMandate = 'it has no mandate, or one of another agent or of an earlier epoch'
const noEvaluation = 'an entry without its evaluation'
const noEntryOfIt = 'an evaluation without its entry'
const otherQuestion = 'it is found by its question, and differs'
const noUse = 'it was used for no payment that it admits'
const noVersions = 'versions of its terms are missing'
const sums = 'the sums of its console differ from its entries'
const ownLimit = 'a limit counts something else than its payments'
const subjectLimit = 'a limit per subject counts something else than its payments'
const budgetLimit = 'a limit of a shared budget counts something else than its payments'
const openInBudget = 'it counts other open payments in a shared budget than there are'

const noBudget = 'a shared budget that is named does not exist'
const otherPath = 'agents, mandates or budgets name other budgets above it'
const noOrder = 'it pays an order that is not found'
const noAccount = 'its records name it, and it does not exist'

const otherTerms = 'it shows another total budget, or another maximum of a payment, than it enforces'
const otherAmount = 'its amount as text is another one than it counts with'

const isCaptured = ({ status }: TableRow<typeof payments>) => status === 'captured'
const isAuthorized = ({ status }: TableRow<typeof payments>) => status === 'authorized'
const isOfPayer = ({ accountId, payerId }: TableRow<typeof refunds>) => accountId === payerId
const isOpen = ({ status, epoch }: TableRow<typeof payments>) => status === 'open' && epoch === 1
const isKind = (kind: string) => ({
  isIt: (row: TableRow<typeof entries>) => row.kind === kind,
})
const isCounted = ({ usage }: TableRow<typeof mandates>) => usage !== null
const isShared = ({ budgetPath }: TableRow<typeof payments>) => budgetPath !== null
const hasCounts = ({ counted }: TableRow<typeof budgetUsage>) => Object.keys(counted).length > 0
/** The same buckets with one extra payment. */
const withOneMore = (tally: Tally): Tally =>
  Object.fromEntries(
    Object.entries(tally).map(([id, buckets]) => [
      id,
      buckets.map(([key, amount, count]) => [key, amount, count + 1] as const),
    ]),
  )
const more = (micro: MicroUsdc) => (micro + 1n) as MicroUsdc
const other = createIds(() => 1_700_000_000_000)

const kinds: readonly Planted[] = [
  planted('more spent than was paid', mandates, [spent], (row) => ({
    ...row,
    spentMicro: more(row.spentMicro),
  })),
  planted('more held than is open', mandates, [held], (row) => ({ ...row, heldMicro: more(row.heldMicro) })),
  planted('a wrong count of open payments', mandates, [counts], (row) => ({ ...row, openPayments: 7 })),
  planted(
    'a mandate whose epoch was reset',
    mandates,
    [held, counts, noMandate, noMandate, noMandate],
    (row) => ({
      ...row,
      epoch: row.epoch - 1,
    }),
  ),
  planted('a mandate that is not found by its id', mandateAccounts, ['it is not found by its id']),
  planted('a deleted version of a mandate', mandateVersions, [noVersions]),
  planted('a mandate with a version that is not stored', mandates, [noVersions], (row) => ({
    ...row,
    version: row.version + 1,
  })),
  planted('a deleted approval', approvals, [otherQuestion], undefined, {
    isIt: ({ status }) => status === 'pending',
  }),
  planted('an approval that wrongly counts as approved', openApprovals, [otherQuestion], (row) => ({
    ...row,
    status: 'approved',
  })),
  planted(
    'an approval that was used for a smaller amount than it admits',
    approvals,
    [noUse, otherAmount],
    (row) => ({ ...row, amountMicro: 1n }),
    { isIt: ({ status }) => status === 'consumed' },
  ),
  planted(
    'an approval that can be used again',
    approvals,
    [noUse],
    (row) => ({ ...row, status: 'approved' }),
    {
      isIt: ({ status }) => status === 'consumed',
    },
  ),
  planted('an agent that is not found by its id', agentAccounts, ['it is not found by its id']),
  planted('a deleted agent', agents, ['it has no agent']),
  planted('a deleted captured payment', payments, [spent, noPayment, noPayment, sums], undefined, {
    isIt: isCaptured,
  }),
  planted('a deleted open payment', payments, [held, counts], undefined, { isIt: isOpen }),
  planted(
    'an open payment that expired and released nothing',
    payments,
    [held, counts],
    (row) => ({ ...row, status: 'expired' }),
    {
      isIt: isOpen,
    },
  ),
  planted(
    'a payment with another amount',
    payments,
    [held, otherAmount],
    (row) => ({ ...row, amountMicro: more(row.amountMicro) }),
    {
      isIt: isOpen,
    },
  ),
  planted(
    'a payment in another environment',
    payments,
    [noEntry, 'captured for another account without its entry there', noMandate],
    (row) => ({ ...row, environment: 'production' }),
    {
      isIt: isCaptured,
    },
  ),
  planted(
    'a payment with another capture time',
    payments,
    [noEntry, 'captured for another account without its entry there'],
    (row) => ({ ...row, capturedAtMs: 1 }),
    {
      isIt: isCaptured,
    },
  ),
  planted(
    'an open payment without a mandate',
    payments,
    [noMandate],
    (row) => ({ ...row, nonce: other.nonce(), mandateId: other.next('mandate') }),
    {
      isIt: isOpen,
      isAdded: true,
    },
  ),
  planted(
    'a captured payment that is open again',
    payments,
    [spent, held, counts, refunded, noPayment, noPayment, sums],
    (row) => ({
      ...row,
      status: 'open',
      transactionId: null,
      ...noOptionalFacts,
    }),
    { isIt: isCaptured },
  ),
  planted('a payment whose entry is deleted', entries, [noEntry, sums], undefined, isKind('paid')),
  planted(
    'a payment whose entry has another amount',
    entries,
    [noEntry, sums],
    (row) => ({ ...row, amountMicro: more(row.amountMicro) }),
    isKind('paid'),
  ),
  planted(
    'a payment whose entry is deleted in the account that received it',
    entries,
    ['captured for another account without its entry there', sums],
    undefined,
    isKind('received'),
  ),
  planted(
    'the entry of a payment in an unrelated account',
    entries,
    [noPayment, sums],
    (row) => ({ ...row, accountId: other.next('account') }),
    {
      ...isKind('paid'),
      isAdded: true,
    },
  ),
  planted('more authorized than the payments', mandates, [authorized], (row) => ({
    ...row,
    authorizedMicro: more(row.authorizedMicro),
  })),
  planted('a wrong count of authorized payments', mandates, [authorizedCount], (row) => ({
    ...row,
    authorizedPayments: 7,
  })),
  planted(
    'an authorized payment that ended and released nothing',
    payments,
    [authorized, authorizedCount, strayDeadline],
    (row) => ({ ...row, status: 'voided' }),
    { isIt: isAuthorized },
  ),
  planted(
    'an authorized payment with another deadline',
    payments,
    [noDeadline, strayDeadline],
    (row) => ({ ...row, captureDeadlineMs: 1 }),
    { isIt: isAuthorized },
  ),
  planted('an authorized payment without a deadline', authorizations, [noDeadline]),
  planted(
    'a payment that captured more than its amount',
    payments,
    ['captured above its amount', spent, noEntry, 'captured for another account without its entry there'],
    (row) => ({ ...row, capturedMicro: more(row.amountMicro) }),
    { isIt: isCaptured },
  ),
  planted(
    'a payment with a wrong refunded sum',
    payments,
    [refunded, spent],
    (row) => ({ ...row, refundedMicro: 1n }),
    { isIt: isCaptured },
  ),
  planted('a deleted refund', refunds, [refunded, noRefund], undefined, { isIt: isOfPayer }),
  planted('a refund that is deleted in the account that sent it', refunds, [noRefund], undefined, {
    isIt: (row) => !isOfPayer(row),
  }),
  planted(
    'a refund with another amount',
    refunds,
    [refunded, noEntryOfRefund, otherAmount],
    (row) => ({ ...row, amountMicro: more(row.amountMicro) }),
    { isIt: isOfPayer },
  ),
  planted(
    'a refund whose entry is deleted',
    entries,
    [noEntryOfRefund, noRefundOfPayer, sums],
    undefined,
    isKind('refunded'),
  ),
  planted(
    'a refund whose entry is deleted in the account that sent it',
    entries,
    [noEntryOfRefund, sums],
    undefined,
    isKind('refund_sent'),
  ),
  planted(
    'a sum of refunds that counts one twice',
    activity,
    [sums],
    (row) => ({ ...row, refundedCount: 2 }),
    {
      isIt: ({ dimension, refundedCount }) => dimension === 'all' && refundedCount !== 0,
    },
  ),
  planted(
    'a limit that counts a payment twice',
    mandates,
    [ownLimit],
    (row) => ({ ...row, usage: { ...usageIn(row), counted: withOneMore(usageIn(row).counted) } }),
    { isIt: isCounted },
  ),
  planted(
    'a limit that would keep counting payments that a stop ends',
    mandates,
    [ownLimit],
    (row) => ({ ...row, usage: { ...usageIn(row), open: {} } }),
    { isIt: isCounted },
  ),
  planted(
    'a limit that lost its counts',
    mandates,
    [ownLimit, openInBudget],
    (row) => ({
      ...row,
      usage: { ...usageIn(row), counted: {}, open: {}, budgets: zeroed(usageIn(row).budgets) },
    }),
    { isIt: isCounted },
  ),
  planted('a limit per seller that was reset', subjectUsage, [subjectLimit]),
  planted('a limit per seller of an earlier epoch', subjectUsage, [subjectLimit], (row) => ({
    ...row,
    epoch: row.epoch - 1,
  })),
  planted('a shared budget that lost its counts', budgetUsage, [budgetLimit], undefined, { isIt: hasCounts }),
  planted(
    'a shared budget that counts a payment twice',
    budgetUsage,
    [budgetLimit],
    (row) => ({
      ...row,
      counted: withOneMore(row.counted),
    }),
    { isIt: hasCounts },
  ),
  planted('a mandate that enforces a larger total than it shows', mandates, [otherTerms], (row) => ({
    ...row,
    maxTotalMicro: row.maxTotalMicro * 100n,
  })),
  planted(
    'a mandate that enforces another maximum of a payment than it shows',
    mandates,
    [otherTerms],
    (row) => ({ ...row, maxPerTransactionMicro: more(row.maxPerTransactionMicro) }),
  ),
  planted('a mandate that shows no amount', mandates, [otherTerms], (row) => ({
    ...row,
    maxTotalText: 'much',
  })),
  planted(
    'a mandate that enforces another expiry than it shows',
    mandates,
    ['it shows another expiry than it enforces'],
    (row) => ({ ...row, expiresAtMs: row.expiresAtMs + 1_000 }),
  ),
  planted('a payment that shows another amount', payments, [otherAmount], (row) => ({
    ...row,
    amountText: '10.00',
  })),
  planted('an approval that shows another amount', approvals, [otherAmount], (row) => ({
    ...row,
    amountText: '1.000001',
  })),
  planted(
    'a refund that shows another amount',
    refunds,
    [otherAmount],
    (row) => ({ ...row, amountText: '0.05' }),
    { isIt: isOfPayer },
  ),
  planted('an evaluation that shows another amount', evaluations, [otherAmount], (row) => ({
    ...row,
    amountText: '01' + row.amountText,
  })),
  planted('a deleted shared budget', budgets, [noBudget], undefined, {
    isIt: ({ parentId }) => parentId !== null,
  }),
  planted('a deleted budget above another', budgets, [noBudget], undefined, {
    isIt: ({ parentId }) => parentId === null,
  }),
  planted('a mandate in a missing shared budget', mandates, [noBudget], (row) => ({
    ...row,
    budgetPath: [other.next('budget')],
  })),
  planted(
    'a mandate outside of the budgets above its own',
    mandates,
    [otherPath],
    (row) => ({ ...row, budgetPath: row.budgetPath?.slice(0, 1) }),
    {
      isIt: ({ budgetPath }) => budgetPath !== null,
    },
  ),
  planted('an agent in a missing shared budget', agents, [noBudget], (row) => ({
    ...row,
    budgetPath: [other.next('budget')],
  })),
  planted('an order that can be paid again', orders, [noOrder]),
  planted('a deleted account', accounts, [noAccount]),
  planted(
    'a payment that was removed from its shared budget',
    payments,
    [budgetLimit, openInBudget],
    (row) => ({ ...row, budgetPath: null }),
    { isIt: (row) => isShared(row) && row.status === 'open' },
  ),
  planted(
    'a payment booked in another period',
    payments,
    [ownLimit, subjectLimit, budgetLimit],
    (row) => ({ ...row, bookedAtMs: row.issuedAtMs - 366 * 86_400_000 }),
    { isIt: (row) => isShared(row) && isCaptured(row) },
  ),
  planted(
    'a refund that released nothing in limits',
    payments,
    [refunded, spent, ownLimit, subjectLimit, budgetLimit],
    (row) => ({ ...row, refundedMicro: 1n }),
    { isIt: (row) => isShared(row) && isCaptured(row) },
  ),
  planted('a deleted evaluation', evaluations, [noEvaluation]),
  planted('an evaluation that was denied afterwards', evaluations, [noEvaluation], (row) => ({
    ...row,
    reasonCode: 'agent_revoked',
  })),
  planted('an evaluation with another amount', evaluations, [noEntryOfIt, otherAmount], (row) => ({
    ...row,
    amountMicro: more(row.amountMicro),
  })),
  planted(
    'an evaluation whose entry is deleted',
    entries,
    [noEntryOfIt, sums],
    undefined,
    isKind('approved'),
  ),
  planted(
    'a console sum that counts a payment twice',
    activity,
    [sums],
    (row) => ({ ...row, paidCount: row.paidCount + 1 }),
    {
      isIt: ({ dimension, paidCount }) => dimension === 'all' && paidCount > 0,
    },
  ),
  planted(
    'a console sum with another amount',
    activity,
    [sums],
    (row) => ({ ...row, paidLow: row.paidLow + 1n }),
    {
      isIt: ({ dimension, paidCount }) => dimension === 'all' && paidCount > 0,
    },
  ),
  ...activityDimensions
    .filter((dimension) => dimension !== 'all')
    .flatMap((dimension) => {
      // A merchant's own rows of this dimension are not compared.
      const isIt = (row: TableRow<typeof activity>) =>
        row.dimension === dimension && (dimension !== 'domain' || row.subject === '')
      return [
        planted(
          `a console sum of ${dimension} that counts one more`,
          activity,
          [sums],
          (row) => ({ ...row, paidCount: row.paidCount + 1 }),
          { isIt },
        ),
        planted(
          `a console sum of ${dimension} with a larger amount`,
          activity,
          [sums],
          (row) => ({ ...row, paidHigh: row.paidHigh + 1n }),
          { isIt },
        ),
        planted(`a deleted console sum of ${dimension}`, activity, [sums], undefined, { isIt }),
      ]
    }),
  planted('a deleted console sum', activity, [sums], undefined, {
    isIt: ({ dimension, paidCount }) => dimension === 'all' && paidCount > 0,
  }),
  planted('a wrong count of owner keys', accounts, ['it counts other keys of owners than work'], (row) => ({
    ...row,
    ownerKeys: 0,
  })),
  planted('a key that cannot be found', keyHashes, ['a key that is not found by its hash']),
  planted('a hash that leads to another key', keyHashes, ['a key that is not found by its hash'], (row) => ({
    ...row,
    keyId: other.next('apiKey'),
  })),
  planted('a revoked key that works again', apiKeys, ['it counts other keys of owners than work'], (row) => ({
    ...row,
    revokedAtMs: 1,
  })),
  planted('an account that is not found by its user', identities, ['it is not found by its user']),
  planted('a domain that belongs to no seller', sellerDomains, ['a domain without its seller'], (row) => ({
    ...row,
    sellerId: other.next('seller'),
  })),
]

for (const { name, missing, open } of beds) {
  describe(name, { skip: missing ?? false }, () => {
    test('Every planted fault is found exactly once, and none in a ledger that only operations wrote', async (context) => {
      const bed = await open()
      context.after(() => bed.close())
      const find = async () => {
        const found = await findLedgerFaults(bed.reader)
        return found.map(({ fault }) => fault).sort()
      }
      const payerId = await writeLedger(bed)
      assert.deepEqual(await find(), [])
      for (const { name: kind, table, isIt = () => true, now, isAdded = false, faults } of kinds) {
        const rows = (await bed.rowsOf(table)).filter(isIt as (row: unknown) => boolean)
        const row = rows.find(({ accountId, id }) => (accountId ?? id) === payerId) ?? rows[0]
        assert(row, kind)
        const before = isAdded ? undefined : row
        const after = now?.(row as never)
        await inTransaction(bed.driver, ({ commit }) => commit([{ table, before, now: after }]))
        assert.deepEqual(await find(), faults.toSorted(), kind)
        await inTransaction(bed.driver, ({ commit }) => commit([{ table, before: after, now: before }]))
      }
      assert.deepEqual(await find(), [])
    })
  })
}

/**
 * A ledger with records of each kind, in which one mandate is in its second epoch; returns the account that
 * pays.
 */
async function writeLedger({ driver }: Bed): Promise<string> {
  const ledger = new Ledger({
    driver,
    stopwatch: { nowMs: () => performance.now(), sleep: (ms) => sleep(ms) },
    random: Math.random,
  })
  const clock = { ms: Date.UTC(2026, 10, 20, 12) }
  const ids = createIds(() => clock.ms)
  const payer = await LedgerTenant.create({ ledger, ids, clock })
  const shop = await LedgerTenant.create({ ledger, ids, clock })
  const { accountId, environment } = shop.caller
  const seller = { accountId, environment, id: ids.next('seller'), name: 'Shop', domain: 'shop.example' }
  await ledger.run(createSeller, [
    { ...seller, priceConfig: '{}', createdAtMs: clock.ms, isPending: false },
    shop.event('seller.created', seller.id),
  ])
  const id = await payer.mandate()
  const mandate = { accountId: payer.caller.accountId, environment, id }
  await Promise.all([payer.proof(id), payer.proof(id)])
  for (const to of ['paused', 'active'] as const) {
    await ledger.run(moveMandate, [mandate, to, payer.event('mandate.paused', id)])
  }
  const event = payer.event('mandate.amended', id)
  const amendment = { terms: { purpose: 'Maps' }, expectedVersion: 1, mayWiden: true, endsHolds: false }
  await ledger.run(amendMandate, [mandate, {}, amendment, event])
  await ledger.run(evaluate, payer.proposal(id))
  const captured = { ...payer.hold(id), category: 'data' }
  await ledger.run(issueProof, { hold: captured })
  await ledger.run(capture, { ...payer.captureCall(captured), caller: shop.caller })
  await payer.proof(id)
  const promised = payer.captureCall(await payer.proof(id))
  const promise = payer.event('payment.authorized', promised.nonce)
  await ledger.run(authorize, { ...promised, captureSeconds: 600, event: promise })
  const events = { payer: payer.event('payment.refunded', id), own: shop.event('payment.refunded', id) }
  const half = { amountText: '0.50', amountMicro: 500_000n as MicroUsdc, reason: null }
  await ledger.run(refund, {
    ...half,
    caller: shop.caller,
    payerId: payer.caller.accountId,
    nonce: captured.nonce,
    idempotencyKey: 'return',
    refundId: ids.next('transaction'),
    nowMs: clock.ms,
    events,
  })
  await writeApprovals(ledger, shop)
  await writeLimits(ledger, await LedgerTenant.create({ ledger, ids, clock }))
  for (const owner of [payer, shop]) {
    const upToId = ids.next('transaction')
    await ledger.run(addUpActivity, { accountId: owner.caller.accountId, upToId, limit: 100 })
  }
  return payer.caller.accountId
}

/** A used approval and a pending one. */
async function writeApprovals(ledger: Ledger, tenant: LedgerTenant): Promise<void> {
  const mandateId = await tenant.mandate()
  const { accountId, environment } = tenant.caller
  const scope = { accountId, environment }
  const terms = { approval: { above: '0.00', firstPurchaseAtSeller: false, required: 1 } }
  const event = tenant.event('mandate.amended', mandateId)
  const amendment = { terms, expectedVersion: 1, mayWiden: true, endsHolds: false }
  await ledger.run(amendMandate, [{ ...scope, id: mandateId }, {}, amendment, event])
  const asked = await ledger.run(issueProof, { hold: tenant.hold(mandateId) })
  const approvalId = asked.decision === 'denied' ? (asked.approval?.id ?? '') : ''
  const verdict = { actor: 'ada', person: 'ada', verdict: 'approved', note: null, isOwner: true } as const
  const events = { decided: tenant.event('approval.approved', approvalId), amended: event }
  await ledger.run(decideApproval, [{ ...scope, mandateId, id: approvalId }, verdict, events])
  const used = await ledger.run(issueProof, { hold: tenant.hold(mandateId), approvalId })
  assert.equal(used.decision, 'approved')
  await ledger.run(issueProof, { hold: tenant.hold(mandateId) })
}

/** A mandate with limits of each kind under shared budgets, with an open payment of an order and a captured payment. */
async function writeLimits(ledger: Ledger, tenant: LedgerTenant): Promise<void> {
  const { accountId, environment } = tenant.caller
  const times = { createdAtMs: 1, updatedAtMs: 1, frozenAtMs: null, version: 1 }
  const timeZone = 'Europe/Berlin'
  const limits = [
    limit('own', { rollingSeconds: 3_600 }),
    limit('day', { calendar: 'day', timeZone }),
    limit('seller', { calendar: 'month', timeZone }, 'seller'),
  ]
  const ids = createIds(() => 1)
  const company = {
    accountId,
    environment,
    id: ids.next('budget'),
    name: 'Company',
    ancestors: [],
    limits: [],
  }
  const budget = { accountId, environment, id: ids.next('budget'), name: 'Team', ancestors: [company.id] }
  const ofTeam = [limit('team', { calendar: 'year', timeZone })]
  const event = tenant.event('budget.created', budget.id)
  await ledger.run(createBudget, [{ ...company, ...times }, tenant.event('budget.created', company.id)])
  await ledger.run(createBudget, [{ ...budget, ...times, limits: ofTeam }, event])
  const mandateId = await tenant.mandate(undefined, { limits, budgetPath: [budget.id, company.id] })
  const ordered = await ledger.run(issueProof, { hold: { ...tenant.hold(mandateId), orderId: 'A-1' } })
  assert.equal(ordered.decision, 'approved')
  const captured = await tenant.capture(await tenant.proof(mandateId))
  assert.equal(captured.outcome, 'captured')
}

function limit(id: string, window: Limit['window'], per: Limit['per'] = null): Limit {
  const max = { maxAmountText: '100.00', maxAmountMicro: '100000000', maxCount: 50 }
  return { id, window, per, ...max, action: 'deny' }
}

function usageIn({ usage }: TableRow<typeof mandates>): MandateUsage {
  assert(usage)
  return usage
}

/** Nothing is open in any budget. */
function zeroed(budgets: MandateUsage['budgets']): MandateUsage['budgets'] {
  return Object.fromEntries(Object.entries(budgets).map(([id, { epoch }]) => [id, { epoch, open: {} }]))
}
