// Longer than 400 lines: it is a list, read from top to bottom.
import { StaleRowsError, type DriverTransaction, type NetChange } from '../../src/store/ledger/driver.ts'
import type { Change, Decision, Facts, Read } from '../../src/store/ledger/operation.ts'
import type { Table } from '../../src/store/ledger/table.ts'
import {
  accounts,
  activity,
  activityParts,
  agents,
  apiKeys,
  approvals,
  auditEvents,
  budgets,
  budgetUsage,
  entries,
  evaluations,
  mandates,
  mandateVersions,
  orders,
  paidSellers,
  payments,
  proofRequests,
  sellerDomains,
} from '../../src/store/ledger/tables.ts'
import type { SimulationOptions } from './simulation.ts'
import { changeTransactions } from '../../testing/transactions.ts'

type Row = Readonly<Record<string, unknown>>
type Planting = Pick<SimulationOptions, 'changeOperation' | 'changeDriver' | 'minOperations'> & {
  /**
   * For a bug that few histories show: the first seed to try, so that a test need not try all earlier ones.
   */
  readonly firstSeed?: number
}

/** Bugs that the operations, the runner and the drivers could have. The simulator must find each. */
export const plantedBugs: readonly (Planting & { readonly bug: string })[] = [
  {
    bug: 'a capture does not check whether the proof was used',
    ...inOperation(
      'capture',
      seeing(payments, (row) => ({ ...row, status: 'open', transactionId: null })),
    ),
  },
  {
    bug: 'no service continues an interrupted stop',
    firstSeed: 46,
    ...inOperation('takeStop', {
      decide: () => () => ({ outcome: false, changes: [] }),
    }),
  },
  {
    bug: 'a capture does not check whether its mandate was stopped',
    ...inOperation(
      'capture',
      seeing(mandates, (row) => ({ ...row, epoch: 0 })),
    ),
  },
  {
    bug: 'a proof does not count what other proofs hold',
    ...inOperation(
      'issueProof',
      seeing(mandates, (row) => ({ ...row, heldMicro: 0n })),
    ),
  },
  {
    bug: 'an order does not know its proof',
    ...inOperation('issueProof', without(orders)),
  },
  {
    bug: 'an order gets another proof although its first one can still be charged',
    ...inOperation(
      'issueProof',
      seeing(payments, (row) => (row['status'] === 'open' ? { ...row, status: 'voided' } : row)),
    ),
  },
  {
    bug: 'a repeated request gets another proof',
    firstSeed: 7,
    ...inOperation('issueProof', without(proofRequests)),
  },
  {
    bug: 'a proof is granted to a revoked agent',
    firstSeed: 12,
    ...inOperation(
      'issueProof',
      seeing(agents, (row) => ({ ...row, status: 'active' })),
    ),
  },
  {
    bug: 'a proof is granted under a mandate that is not active',
    ...inOperation(
      'issueProof',
      seeing(mandates, (row) => ({ ...row, status: 'active' })),
    ),
  },
  {
    bug: 'an evaluation approves what does not fit the budget',
    firstSeed: 30,
    ...inOperation(
      'evaluate',
      seeing(mandates, (row) => ({ ...row, spentMicro: 0n })),
    ),
  },
  {
    bug: 'a capture ignores the test clock of the account that pays',
    ...inOperation(
      'capture',
      seeing(accounts, (row) => ({ ...row, clockOffsetMs: null })),
    ),
  },
  {
    bug: 'an authorization is captured after its deadline on the test clock',
    firstSeed: 7,
    ...inOperation(
      'captureAuthorized',
      seeing(accounts, (row) => ({ ...row, clockOffsetMs: null })),
    ),
  },
  { bug: 'a capture is not added to what is spent', ...inOperation('capture', without(mandates)) },
  { bug: 'a capture adds no journal entry', ...inOperation('capture', without(entries)) },
  { bug: 'a capture leaves the payment open', ...inOperation('capture', without(payments)) },
  {
    bug: 'a payment to another account is not recorded there',
    ...inOperation(
      'capture',
      without(entries, (row) => row['kind'] === 'received'),
    ),
  },
  { bug: 'a proof holds nothing', ...inOperation('issueProof', without(mandates)) },
  { bug: 'a proof is granted and not written', ...inOperation('issueProof', without(payments)) },
  {
    bug: 'a capture does not check whether its agent is revoked, and the sweep ends its proofs',
    firstSeed: 17,
    ...inOperations({
      capture: seeing(agents, (row) => ({ ...row, status: 'active' })),
      voidPaymentsOfRevoked: changing(() => []),
    }),
    minOperations: 600,
  },
  {
    bug: 'a proof is not counted in the limits of its mandate',
    ...inOperation('issueProof', keeping('usage')),
  },
  {
    bug: 'a proof ignores the limits of its mandate',
    ...inOperation('issueProof', {
      decide: (decide) =>
        keeping('limits').decide(seeing(mandates, (row) => ({ ...row, limits: null })).decide(decide)),
    }),
  },
  { bug: 'a proof is not counted in a shared budget', ...inOperation('issueProof', without(budgetUsage)) },
  {
    bug: 'a proof ignores what other mandates hold of a shared budget',
    ...inOperation(
      'issueProof',
      seeing(budgetUsage, (row) => ({ ...row, counted: {} })),
    ),
  },
  { bug: 'a void gives nothing back to limits', ...inOperation('voidProof', keeping('usage')) },
  { bug: 'a refund gives nothing back to limits', firstSeed: 11, ...inOperation('refund', keeping('usage')) },
  { bug: 'a refund gives nothing back to a shared budget', ...inOperation('refund', without(budgetUsage)) },
  {
    bug: 'a pause leaves open proofs counted in a shared budget',
    firstSeed: 18,
    ...inOperation('moveMandate', without(budgetUsage)),
  },
  {
    bug: 'what has expired stays counted in a shared budget',
    ...inOperation('releaseExpiredPayments', without(budgetUsage)),
  },
  {
    bug: 'a freeze ends no open proofs',
    firstSeed: 30,
    ...inOperation('freezeBudget', keepingOf(budgets, 'epoch')),
  },
  { bug: 'an agent is not assigned to a budget', ...inOperation('assignAgent', without(agents)) },
  {
    bug: 'a proof does not count in the budget of its agent',
    ...inOperation(
      'issueProof',
      seeing(agents, (row) => ({ ...row, budgetPath: null })),
    ),
  },
  {
    bug: 'an agent that joins a frozen budget keeps its open proofs',
    firstSeed: 6,
    ...inOperation(
      'capture',
      seeing(agents, (row) => ({ ...row, budgetPath: null })),
    ),
  },
  {
    bug: 'an agent that leaves a budget gets back the proofs that a freeze has ended',
    firstSeed: 1_716,
    ...inOperation('assignAgent', keepingOf(agents, 'endedAtMs')),
  },
  { bug: 'a change of a budget is not written', ...inOperation('changeBudget', without(budgets)) },
  {
    bug: 'a change of a budget ends no proofs',
    firstSeed: 58,
    ...inOperation('changeBudget', keepingOf(budgets, 'epoch')),
  },
  {
    bug: 'a budget is cut below what is committed',
    ...inOperation(
      'changeBudget',
      seeing(budgetUsage, (row) => ({ ...row, counted: {} })),
    ),
  },
  {
    bug: 'an added limit of a budget counts nothing',
    firstSeed: 39,
    ...inOperation('changeBudget', without(budgetUsage)),
  },
  { bug: 'an amendment ends no proofs', firstSeed: 8, ...inOperation('amendMandate', keeping('epoch')) },
  {
    bug: 'a disabled account keeps its open proofs',
    firstSeed: 36,
    ...inOperation(
      'voidPayments',
      changing(() => []),
    ),
  },
  {
    bug: 'a proof of a disabled account is charged',
    firstSeed: 36,
    ...inOperations({
      voidPayments: changing(() => []),
      capture: seeing(accounts, (row) => ({ ...row, disabledAtMs: null })),
    }),
  },
  {
    bug: 'a capture does not check whether its shared budget was frozen',
    ...inOperation(
      'capture',
      seeing(budgets, (row) => ({ ...row, epoch: 0, frozenAtMs: null })),
    ),
  },
  {
    bug: 'a proof is granted under a frozen budget',
    ...inOperation(
      'issueProof',
      seeing(budgets, (row) => ({ ...row, frozenAtMs: null })),
    ),
  },
  {
    bug: 'an unfrozen budget stays frozen',
    ...inOperation(
      'freezeBudget',
      without(budgets, (row) => row['frozenAtMs'] === null),
    ),
  },
  {
    bug: 'a capture of a part keeps all of the payment counted in limits',
    firstSeed: 7,
    ...inOperation('captureAuthorized', keeping('usage')),
  },
  {
    bug: 'rows that were only read are not rechecked at the commit',
    minOperations: 600,
    ...reading((read) => ({ ...read, table: { ...read.table, isRechecked: false } })),
  },
  {
    bug: 'a pause ends no proofs',
    firstSeed: 7,
    ...inOperation('moveMandate', keeping('epoch')),
  },
  {
    bug: 'a pause releases nothing',
    ...inOperation('moveMandate', keeping('heldMicro')),
  },
  { bug: 'an expired payment stays open', ...inOperation('releaseExpiredPayments', without(payments)) },
  {
    bug: 'an expired payment keeps its amount',
    ...inOperation('releaseExpiredPayments', keeping('heldMicro')),
  },
  {
    bug: 'a late verification ends a proof without releasing its amount',
    ...inOperation('settleLate', without(mandates)),
  },
  {
    bug: 'a retry does not get its transaction',
    ...inOperation(
      'capture',
      seeing(payments, (row) => ({ ...row, capturedBy: null })),
    ),
  },
  {
    bug: 'every capture of a paid proof gets its transaction',
    ...inOperation('capture', {
      decide: (decide) => (call, facts) => {
        const decision = decide(call, facts)
        const { nonce, payerId: accountId } = call as { readonly nonce: string; readonly payerId: string }
        const transactionId = facts.row(payments, { accountId, nonce })?.transactionId
        return transactionId ? { outcome: { outcome: 'replayed', transactionId }, changes: [] } : decision
      },
    }),
  },
  {
    bug: 'transactions lock nothing',
    ...reading((read) => ({ ...read, isLocked: false })),
  },
  {
    bug: 'a failed transaction is answered as a success',
    ...inTransaction((transaction) => ({ commit: (changes) => tryCommit(transaction, changes) })),
  },
  {
    bug: 'a decision on stale rows is answered as if it had been committed',
    ...inTransaction((transaction) => ({
      async commit(changes) {
        try {
          await transaction.commit(changes)
        } catch (error) {
          if (!(error instanceof StaleRowsError)) throw error
          await transaction.rollBack()
        }
      },
    })),
  },
  {
    bug: 'the last change of a batch is not written',
    ...inTransaction((transaction) => ({ commit: (changes) => transaction.commit(changes.slice(0, -1)) })),
  },
  { bug: 'a stop of all mandates leaves some active', ...inOperation('stopMandate', without(mandates)) },
  {
    bug: 'a stop of all mandates ends no proofs',
    ...inOperation('stopMandate', keeping('epoch', 'heldMicro', 'openPayments')),
  },
  { bug: 'a void releases nothing', ...inOperation('voidProof', without(mandates)) },
  { bug: 'a void leaves the proof open', ...inOperation('voidProof', without(payments)) },
  {
    bug: 'a disabled account stays active',
    ...inOperation('moveAccount', without(accounts)),
  },
  {
    bug: 'a released domain stays registered',
    firstSeed: 54,
    ...inOperation('releaseDomain', without(sellerDomains)),
  },
  {
    bug: 'a denied proof is not recorded',
    ...inOperation(
      'issueProof',
      changing((change) => (change.table === entries || change.table === evaluations ? [] : [change])),
    ),
  },
  { bug: 'a revoked key keeps working', firstSeed: 27, ...inOperation('revokeApiKey', without(apiKeys)) },
  { bug: 'a mandate is created and not written', ...inOperation('createMandate', without(mandates)) },
  { bug: 'a revoked agent stays active', firstSeed: 12, ...inOperation('revokeAgent', without(agents)) },
  {
    bug: 'a revoked agent has no event',
    firstSeed: 12,
    ...inOperation('revokeAgent', without(auditEvents)),
  },
  { bug: 'an evaluation is not in the journal', ...inOperation('evaluate', without(entries)) },
  {
    bug: 'a capture keeps what its proof held',
    ...inOperation('capture', keeping('heldMicro')),
  },
  {
    bug: "what was added to the console's sums is added again",
    ...inOperation(
      'addUpActivity',
      changing((change) => (change.kind === 'remove' ? [] : [change])),
    ),
  },
  {
    bug: "what was added to the console's sums is lost",
    ...inOperation('addUpActivity', without(activity)),
  },
  {
    bug: "the console's sums leave out what was paid",
    ...inOperation(
      'addUpActivity',
      changing((change) =>
        change.table === activity
          ? [{ ...change, row: { ...change.row, paidHigh: 0n, paidLow: 0n } }]
          : [change],
      ),
    ),
  },
  { bug: 'paid sellers are not recorded', ...inOperation('addUpActivity', without(paidSellers)) },
  {
    bug: "two services add the same to the console's sums",
    ...reading((read) => ({
      ...read,
      isLocked: read.isLocked && read.table !== activityParts && read.table !== activity,
    })),
  },
  {
    bug: 'a resume leaves the mandate paused',
    ...inOperation(
      'moveMandate',
      without(mandates, (row) => row['status'] === 'active'),
    ),
  },
  { bug: 'an authorization reserves nothing', ...inOperation('authorize', without(mandates)) },
  {
    bug: 'an authorization does not check whether its mandate was stopped',
    firstSeed: 73,
    ...inOperation(
      'authorize',
      seeing(mandates, (row) => ({ ...row, epoch: 0 })),
    ),
  },
  {
    bug: 'a proof does not count what is authorized',
    ...inOperation(
      'issueProof',
      seeing(mandates, (row) => ({ ...row, authorizedMicro: 0n })),
    ),
  },
  {
    bug: 'a partial capture keeps the rest',
    ...inOperation('captureAuthorized', keeping('authorizedMicro')),
  },
  {
    bug: 'a capture ignores its deadline',
    firstSeed: 7,
    ...inOperation('captureAuthorized', {
      decide: (decide) => (call, facts) => decide({ ...(call as object), nowMs: 0 }, facts),
    }),
  },
  {
    bug: 'a retry of a capture does not get its answer',
    ...inOperation(
      'captureAuthorized',
      seeing(payments, (row) => ({ ...row, capturedBy: null })),
    ),
  },
  { bug: 'a void by the merchant releases nothing', ...inOperation('voidAuthorized', without(mandates)) },
  {
    bug: 'an overdue payment keeps its amount',
    ...inOperation('releaseExpiredPayments', keeping('authorizedMicro')),
  },
  {
    bug: 'a stop ends authorized payments',
    ...inOperations({
      stopMandate: ending(),
      moveMandate: ending(),
    }),
  },
  { bug: 'a refund releases no budget', ...inOperation('refund', without(mandates)) },
  { bug: 'a refund adds no journal entry', ...inOperation('refund', without(entries)) },
  {
    bug: 'a refund ignores earlier refunds',
    ...inOperation(
      'refund',
      seeing(payments, (row) => ({ ...row, refundedMicro: null })),
    ),
  },
  {
    bug: 'a retried refund is made again',
    firstSeed: 19,
    ...inOperation('refund', {
      decide: (decide) => (call, facts) => decide(call, { ...bare(facts), rows: () => [] }),
    }),
  },
  {
    bug: 'a payment is issued without the approval that it needs',
    ...inOperation('issueProof', {
      decide: (decide) => (call, facts) => {
        const blind = seeing(mandates, (row) => ({ ...row, approval: null })).decide(decide)
        return keeping('approval').decide(blind)(call, facts)
      },
    }),
  },
  {
    bug: 'an evaluation needs no approval',
    firstSeed: 23,
    ...inOperation(
      'evaluate',
      seeing(mandates, (row) => ({ ...row, approval: null })),
    ),
  },
  { bug: 'a used approval is not marked', ...inOperation('issueProof', withoutApproval('consumed')) },
  {
    bug: 'an approval is requested and not written',
    ...inOperation('issueProof', withoutApproval('pending')),
  },
  {
    bug: 'an approval that was denied is used',
    ...inOperation(
      'issueProof',
      seeing(approvals, (row) => ({ ...row, status: 'approved' })),
    ),
  },
  {
    bug: 'an approval is given after its request has expired',
    firstSeed: 71,
    ...inOperation(
      'decideApproval',
      seeing(approvals, (row) => (row['status'] === 'pending' ? { ...row, expiresAtMs: Infinity } : row)),
    ),
  },
  {
    bug: 'a request for approval expires at once',
    ...inOperation(
      'decideApproval',
      seeing(approvals, (row) => (row['status'] === 'pending' ? { ...row, expiresAtMs: 0 } : row)),
    ),
  },
  { bug: 'a decision is not written', ...inOperation('decideApproval', without(approvals)) },
  {
    bug: 'a denial does not change the approval',
    ...inOperation('decideApproval', withoutApproval('denied')),
  },
  {
    bug: 'an approval expires as soon as it is given',
    ...inOperation(
      'decideApproval',
      changing((change) =>
        change.table === approvals ? [{ ...change, row: { ...change.row, expiresAtMs: 0 } }] : [change],
      ),
    ),
  },
  { bug: 'an amendment is not written', ...inOperation('amendMandate', without(mandates)) },
  { bug: 'an amendment keeps no version', ...inOperation('amendMandate', without(mandateVersions)) },
  { bug: 'an increase is approved and not applied', ...inOperation('decideApproval', without(mandates)) },
  { bug: 'an increase keeps the old terms', ...inOperation('decideApproval', keeping('maxTotalMicro')) },
  { bug: 'a request for an increase is not written', ...inOperation('requestIncrease', without(approvals)) },
  {
    bug: 'a commit is answered before it is made',
    ...inTransaction((transaction) => ({
      commit: (changes) => void tryCommit(transaction, changes),
    })),
  },
  {
    bug: 'rows are read before they are locked',
    ...inTransaction((transaction) => ({
      read: async (reads, options) => {
        const unlocked = reads.map((read) => ({ ...read, isLocked: false }))
        const { found } = await transaction.read(unlocked, options)
        const { blocked } = await transaction.read(reads, options)
        return { found, blocked }
      },
    })),
  },
  {
    bug: 'a capture changes its payment without locking the mandate',
    changeOperation: (operation) =>
      operation.name === 'capture'
        ? {
            ...operation,
            reads: (...call) => operation.reads(...call).map((read) => ({ ...read, isLocked: false })),
          }
        : operation,
  },
  {
    bug: 'a row locked by another transaction counts as missing',
    ...inTransaction((transaction) => ({
      read: async (reads, options) => ({ ...(await transaction.read(reads, options)), blocked: new Set() }),
    })),
  },
  {
    bug: 'a row locked by another transaction is read without a lock',
    ...inTransaction((transaction) => ({
      read: async (reads, options) => {
        const answer = await transaction.read(reads, options)
        const again = await transaction.read(
          reads.map((read) => ({ ...read, isLocked: false })),
          options,
        )
        return answer.blocked.size > 0 ? again : answer
      },
    })),
  },
  {
    bug: 'removed rows stay',
    ...inTransaction((transaction) => ({
      commit: (changes) => transaction.commit(changes.filter(({ now }) => now)),
    })),
  },
  {
    bug: 'a range of rows ends after the first',
    ...inTransaction((transaction) => ({
      read: async (reads, options) => {
        const { found, blocked } = await transaction.read(reads, options)
        return { found: found.map((rows) => rows.slice(0, 1)), blocked }
      },
    })),
  },
  {
    bug: 'new rows are written, but changed ones are not',
    ...inTransaction((transaction) => ({
      commit: (changes) => transaction.commit(changes.filter(({ before }) => !before)),
    })),
  },
]

interface Spoiling {
  readonly decide: (
    decide: (call: unknown, facts: Facts) => Decision<unknown>,
  ) => (call: unknown, facts: Facts) => Decision<unknown>
}

function inOperation(name: string, spoiling: Spoiling): Planting {
  return inOperations({ [name]: spoiling })
}

function inOperations(spoilings: Readonly<Record<string, Spoiling>>): Planting {
  return {
    changeOperation: (operation) => {
      const spoiling = spoilings[operation.name]
      if (!spoiling) return operation
      const spoiled = spoiling.decide(operation.decide as (call: unknown, facts: Facts) => Decision<unknown>)
      return { ...operation, decide: spoiled as typeof operation.decide }
    },
  }
}

/** Decides on wrong rows. */
function seeing(table: Table, spoil: (row: Row) => Row): Spoiling {
  return {
    decide: (decide) => (call, facts) =>
      decide(
        call,
        seenWith(facts, (of, row) => (of === table ? spoil(row) : row)),
      ),
  }
}

function seenWith(facts: Facts, spoil: (table: Table, row: Row) => Row): Facts {
  return {
    isRerun: facts.isRerun,
    written: (of, key) => facts.written(of, key),
    rows: (range) => facts.rows(range),
    row: (of, key) => {
      const row = facts.row(of, key)
      return row && (spoil(of, row) as typeof row)
    },
    lockedRow: (of, key) => {
      const row = facts.lockedRow(of, key)
      return row && (spoil(of, row) as typeof row)
    },
    read: (reads) => facts.read(reads),
    each: (items, work) => facts.each(items, work),
  }
}

/** Changes what a transaction does. */
function inTransaction(spoil: (transaction: DriverTransaction) => Partial<DriverTransaction>): Planting {
  return { changeDriver: (driver) => changeTransactions(driver, spoil) }
}

/** Changes what a transaction reads. */
function reading(spoil: (read: Read) => Read): Planting {
  return inTransaction((transaction) => ({
    read: async (reads, options) => {
      const others = reads.map(spoil)
      const { found, blocked } = await transaction.read(others, options)
      return { found, blocked: new Set(reads.filter((_, index) => blocked.has(others[index]!))) }
    },
  }))
}

/** Ends the transaction even if the commit fails. */
async function tryCommit(transaction: DriverTransaction, changes: readonly NetChange[]): Promise<void> {
  try {
    await transaction.commit(changes)
  } catch {
    await transaction.rollBack()
  }
}

/** Changes what an operation writes. */
function changing(spoil: (change: Change, facts: Facts) => readonly Change[]): Spoiling {
  return {
    decide: (decide) => (call, facts) => {
      const decision = decide(call, facts)
      return { ...decision, changes: decision.changes.flatMap((change) => spoil(change, facts)) }
    },
  }
}

/** Leaves columns of the mandate unchanged. */
function keeping(...columns: readonly string[]): Spoiling {
  return keepingOf(mandates, ...columns)
}

/** Leaves columns of a table unchanged. */
function keepingOf(table: Table, ...columns: readonly string[]): Spoiling {
  return changing((change, facts) => {
    if (change.table !== table) return [change]
    const before: Row | undefined = facts.row(table, change.row)
    const kept = Object.fromEntries(columns.map((column) => [column, before?.[column]]))
    return [{ ...change, row: { ...change.row, ...kept } }]
  })
}

/** Releases authorized amounts when a mandate leaves `active`. */
function ending(): Spoiling {
  return changing((change) => {
    if (change.table !== mandates || change.row['status'] === 'active') return [change]
    return [{ ...change, row: { ...change.row, authorizedMicro: 0n, authorizedPayments: 0 } }]
  })
}

/** The methods of facts as an object. */
function bare(facts: Facts): Facts {
  return seenWith(facts, (_, row) => row)
}

/** Does not write approvals of a status. */
function withoutApproval(status: string): Spoiling {
  return without(approvals, (row) => row['status'] === status)
}

/** Does not write rows of a table. */
function without(table: Table, isLost: (row: Row) => boolean = () => true): Spoiling {
  return changing((change) => (change.table === table && isLost(change.row) ? [] : [change]))
}
