import type { DriverTransaction } from '../../src/store/ledger/driver.ts'
import type { Change, Decision, Facts } from '../../src/store/ledger/operation.ts'
import type { Table } from '../../src/store/ledger/table.ts'
import {
  accounts,
  activity,
  activityParts,
  agents,
  apiKeys,
  approvals,
  auditEvents,
  entries,
  evaluations,
  mandates,
  mandateVersions,
  paidSellers,
  payments,
  sellerDomains,
} from '../../src/store/ledger/tables.ts'
import type { SimulationOptions } from './simulation.ts'

type Row = Readonly<Record<string, unknown>>
type Planting = Pick<SimulationOptions, 'changeOperation' | 'changeDriver' | 'minCalls'> & {
  /**
   * For a bug that few histories show: the first seed to try, so that a test need not try all earlier ones.
   */
  readonly firstSeed?: number
}

/** Bugs that the operations, the runner and the drivers could have. The simulator must find each. */
export const plantedBugs: readonly (Planting & { readonly bug: string })[] = [
  {
    bug: 'a capture does not look whether the proof was used',
    ...inOperation(
      'capture',
      seeing(payments, (row) => ({ ...row, status: 'open', transactionId: null })),
    ),
  },
  {
    bug: 'a capture does not look whether its mandate was stopped',
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
    bug: 'a proof is granted to a revoked agent',
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
    firstSeed: 20,
    ...inOperation(
      'evaluate',
      seeing(mandates, (row) => ({ ...row, spentMicro: 0n })),
    ),
  },
  { bug: 'a capture is not added to what is spent', ...inOperation('capture', without(mandates)) },
  { bug: 'a capture leaves no entry in the journal', ...inOperation('capture', without(entries)) },
  { bug: 'a capture leaves the payment open', ...inOperation('capture', without(payments)) },
  {
    bug: 'a payment to another account is not entered there',
    ...inOperation(
      'capture',
      changing((change) => (change.table === entries && change.row['kind'] === 'received' ? [] : [change])),
    ),
  },
  { bug: 'a proof holds nothing', ...inOperation('issueProof', without(mandates)) },
  { bug: 'a proof is granted and not written', ...inOperation('issueProof', without(payments)) },
  {
    bug: 'a capture does not look whether its agent is revoked, and its proofs are left to the sweep',
    firstSeed: 26,
    ...inOperations({
      capture: seeing(agents, (row) => ({ ...row, status: 'active' })),
      voidPaymentsOfRevoked: changing(() => []),
    }),
    minCalls: 600,
  },
  {
    bug: 'what was looked at is not looked at again before the commit',
    firstSeed: 89,
    minCalls: 600,
    ...inTransaction((transaction) => ({
      read: async (reads, options) => {
        const others = reads.map((read) => ({ ...read, table: { ...read.table, isRechecked: false } }))
        const { found, blocked } = await transaction.read(others, options)
        return { found, blocked: new Set(reads.filter((_, index) => blocked.has(others[index]!))) }
      },
    })),
  },
  {
    bug: 'a pause ends no proofs',
    ...inOperation(
      'moveMandate',
      changing((change, facts) => {
        if (change.table !== mandates) return [change]
        const before = facts.row(mandates, change.row as never)
        return [{ ...change, row: { ...change.row, epoch: before?.epoch ?? 0 } }]
      }),
    ),
  },
  {
    bug: 'a pause gives nothing back',
    ...inOperation(
      'moveMandate',
      changing((change, facts) => {
        if (change.table !== mandates) return [change]
        const before = facts.row(mandates, change.row as never)
        return [{ ...change, row: { ...change.row, heldMicro: before?.heldMicro ?? 0n } }]
      }),
    ),
  },
  { bug: 'what has expired stays open', ...inOperation('releaseExpiredPayments', without(payments)) },
  {
    bug: 'what has expired keeps its amount',
    ...inOperation(
      'releaseExpiredPayments',
      changing((change, facts) => {
        if (change.table !== mandates) return [change]
        const before = facts.row(mandates, change.row as never)
        return [{ ...change, row: { ...change.row, heldMicro: before?.heldMicro ?? 0n } }]
      }),
    ),
  },
  {
    bug: 'a late verification ends a proof without giving its amount back',
    ...inOperation('settleLate', without(mandates)),
  },
  {
    bug: 'a retry is not told what it paid',
    ...inOperation(
      'capture',
      seeing(payments, (row) => ({ ...row, capturedBy: null })),
    ),
  },
  {
    bug: 'every capture of a paid proof is told that it paid',
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
    changeDriver: (driver) => ({
      transaction: (work, limits) =>
        driver.transaction(
          (transaction) =>
            work({
              ...transaction,
              read: (reads, options) =>
                transaction.read(
                  reads.map((read) => ({ ...read, isLocked: false })),
                  options,
                ),
            }),
          limits,
        ),
    }),
  },
  {
    bug: 'a transaction that fails is answered all the same',
    changeDriver: (driver) => ({
      transaction: (work, limits) =>
        driver.transaction(
          (transaction) =>
            work({ ...transaction, commit: (changes) => transaction.commit(changes).catch(() => undefined) }),
          limits,
        ),
    }),
  },
  {
    bug: 'the last change of a batch is not written',
    changeDriver: (driver) => ({
      transaction: (work, limits) =>
        driver.transaction(
          (transaction) =>
            work({ ...transaction, commit: (changes) => transaction.commit(changes.slice(0, -1)) }),
          limits,
        ),
    }),
  },
  { bug: 'a stop of all leaves mandates active', ...inOperation('stopMandate', without(mandates)) },
  {
    bug: 'a stop of all ends no proofs',
    ...inOperation(
      'stopMandate',
      changing((change, facts) => {
        if (change.table !== mandates) return [change]
        const { epoch, heldMicro, openPayments } = facts.row(mandates, change.row as never)!
        return [{ ...change, row: { ...change.row, epoch, heldMicro, openPayments } }]
      }),
    ),
  },
  { bug: 'a void gives nothing back', ...inOperation('voidPayment', without(mandates)) },
  { bug: 'a void leaves the proof open', ...inOperation('voidPayment', without(payments)) },
  {
    bug: 'a disabled account stays active',
    firstSeed: 9,
    ...inOperation('moveAccount', without(accounts)),
  },
  {
    bug: 'a released domain stays registered',
    firstSeed: 33,
    ...inOperation('releaseDomain', without(sellerDomains)),
  },
  {
    bug: 'a denied proof is not recorded',
    ...inOperation(
      'issueProof',
      changing((change) => (change.table === entries || change.table === evaluations ? [] : [change])),
    ),
  },
  { bug: 'a revoked key goes on working', firstSeed: 34, ...inOperation('revokeApiKey', without(apiKeys)) },
  { bug: 'a mandate is created and not written', ...inOperation('createMandate', without(mandates)) },
  { bug: 'a revoked agent stays active', ...inOperation('revokeAgent', without(agents)) },
  {
    bug: 'a revoked agent has no event',
    ...inOperation('revokeAgent', without(auditEvents)),
  },
  { bug: 'an evaluation is not in the journal', ...inOperation('evaluate', without(entries)) },
  {
    bug: 'a capture keeps what its proof held',
    ...inOperation(
      'capture',
      changing((change, facts) => {
        if (change.table !== mandates) return [change]
        const before = facts.row(mandates, change.row as never)
        return [{ ...change, row: { ...change.row, heldMicro: before?.heldMicro ?? 0n } }]
      }),
    ),
  },
  {
    bug: 'what was added to the sums of the console is added again',
    ...inOperation(
      'addUpActivity',
      changing((change) => (change.kind === 'remove' ? [] : [change])),
    ),
  },
  {
    bug: 'what was added to the sums of the console is lost',
    ...inOperation('addUpActivity', without(activity)),
  },
  {
    bug: 'the sums of the console begin anew with each step',
    ...inOperation(
      'addUpActivity',
      seeing(activity, (row) => ({ ...row, paidCount: 0, approvedCount: 0, deniedCount: 0 })),
    ),
  },
  { bug: 'nobody notes who was paid', ...inOperation('addUpActivity', without(paidSellers)) },
  {
    bug: 'two services add the same to the sums of the console',
    firstSeed: 183,
    ...inTransaction((transaction) => ({
      read: async (reads, options) => {
        const others = reads.map((read) => ({
          ...read,
          isLocked: read.isLocked && read.table !== activityParts && read.table !== activity,
        }))
        const { found, blocked } = await transaction.read(others, options)
        return { found, blocked: new Set(reads.filter((_, index) => blocked.has(others[index]!))) }
      },
    })),
  },
  {
    bug: 'a resume leaves the mandate paused',
    ...inOperation(
      'moveMandate',
      changing((change) => (change.table === mandates && change.row['status'] === 'active' ? [] : [change])),
    ),
  },
  { bug: 'an authorization reserves nothing', ...inOperation('authorize', without(mandates)) },
  {
    bug: 'an authorization does not look whether its mandate was stopped',
    firstSeed: 175,
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
    bug: 'a capture in part keeps the rest',
    ...inOperation('captureAuthorized', keeping('authorizedMicro')),
  },
  {
    bug: 'a capture does not look at its deadline',
    ...inOperation('captureAuthorized', {
      decide: (decide) => (call, facts) => decide({ ...(call as object), nowMs: 0 }, facts),
    }),
  },
  {
    bug: 'a retry of a capture is not told what it charged',
    ...inOperation(
      'captureAuthorized',
      seeing(payments, (row) => ({ ...row, capturedBy: null })),
    ),
  },
  { bug: 'a void by the merchant gives nothing back', ...inOperation('voidAuthorized', without(mandates)) },
  {
    bug: 'what is overdue keeps its amount',
    ...inOperation('releaseExpiredPayments', keeping('authorizedMicro')),
  },
  {
    bug: 'a stop ends what is authorized',
    ...inOperations({
      stopMandate: ending(),
      moveMandate: ending(),
    }),
  },
  { bug: 'a refund gives no budget back', ...inOperation('refund', without(mandates)) },
  { bug: 'a refund is not entered in the journal', ...inOperation('refund', without(entries)) },
  {
    bug: 'a refund does not look at earlier refunds',
    ...inOperation(
      'refund',
      seeing(payments, (row) => ({ ...row, refundedMicro: null })),
    ),
  },
  {
    bug: 'a refund that is asked for again is made again',
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
    ...inOperation(
      'evaluate',
      seeing(mandates, (row) => ({ ...row, approval: null })),
    ),
  },
  { bug: 'an approval is used and not marked', ...inOperation('issueProof', withoutApproval('consumed')) },
  {
    bug: 'an approval is asked for and not written',
    ...inOperation('issueProof', withoutApproval('pending')),
  },
  {
    bug: 'an approval that was denied is used',
    ...inOperation(
      'issueProof',
      seeing(approvals, (row) => ({ ...row, status: 'approved' })),
    ),
  },
  { bug: 'a decision is not written', ...inOperation('decideApproval', without(approvals)) },
  {
    bug: 'a denial leaves the approval as it was',
    ...inOperation('decideApproval', withoutApproval('denied')),
  },
  {
    bug: 'an approval is over as soon as it is given',
    ...inOperation(
      'decideApproval',
      changing((change) =>
        change.table === approvals ? [{ ...change, row: { ...change.row, expiresAtMs: 0 } }] : [change],
      ),
    ),
  },
  { bug: 'an amendment is not written', ...inOperation('amendMandate', without(mandates)) },
  { bug: 'an amendment keeps no version', ...inOperation('amendMandate', without(mandateVersions)) },
  { bug: 'an increase is approved and not made', ...inOperation('decideApproval', without(mandates)) },
  { bug: 'an increase keeps the old terms', ...inOperation('decideApproval', keeping('maxTotalMicro')) },
  { bug: 'a request for an increase is not written', ...inOperation('requestIncrease', without(approvals)) },
  {
    bug: 'a commit is answered before it is made',
    ...inTransaction((transaction) => ({
      commit: async (changes) => void transaction.commit(changes).catch(() => undefined),
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
    bug: 'a row that another transaction has locked is taken for missing',
    ...inTransaction((transaction) => ({
      read: async (reads, options) => ({ ...(await transaction.read(reads, options)), blocked: new Set() }),
    })),
  },
  {
    bug: 'a row that another transaction has locked is read without a lock',
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
    bug: 'a range of rows is cut off after the first',
    ...inTransaction((transaction) => ({
      read: async (reads, options) => {
        const { found, blocked } = await transaction.read(reads, options)
        return { found: found.map((rows) => rows.slice(0, 1)), blocked }
      },
    })),
  },
  {
    bug: 'new rows are written, and changed ones are not',
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

/** Decides on rows that are not as they are. */
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
    knows: (read) => facts.knows(read),
    rows: (of, range) => facts.rows(of, range),
    row: (of, key) => {
      const row = facts.row(of, key)
      return row && (spoil(of, row) as typeof row)
    },
  }
}

/** Changes what a transaction does. */
function inTransaction(spoil: (transaction: DriverTransaction) => Partial<DriverTransaction>): Planting {
  return {
    changeDriver: (driver) => ({
      transaction: (work) =>
        driver.transaction((transaction) => work({ ...transaction, ...spoil(transaction) })),
    }),
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

/** Leaves a column of the mandate as it was. */
function keeping(column: string): Spoiling {
  return changing((change, facts) => {
    if (change.table !== mandates) return [change]
    const before: Row | undefined = facts.row(mandates, change.row as never)
    return [{ ...change, row: { ...change.row, [column]: before?.[column] } }]
  })
}

/** Gives back what is authorized when a mandate leaves `active`. */
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
  return changing((change) => (change.table === approvals && change.row['status'] === status ? [] : [change]))
}

function without(table: Table): Spoiling {
  return changing((change) => (change.table === table ? [] : [change]))
}
