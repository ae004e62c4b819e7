import type { Settled } from '../group-commit.ts'
import type { AuditEvent } from '../../domain/records.ts'
import { StoreUnavailableError, type OwnDomain, type Registration, type ReleaseEvents } from '../store.ts'
import { prepareAccountActs } from './account-acts.ts'
import { prepareActivityActs } from './activity-acts.ts'
import { prepareAgentActs } from './agent-acts.ts'
import { prepareAgentFacts } from './agent-facts.ts'
import { prepareAuditActs } from './audit-acts.ts'
import { prepareHoldActs } from './hold-acts.ts'
import { prepareMandateActs } from './mandate-acts.ts'
import { explainFailure } from '../ledger/sqlite/explain-failure.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'
import { preparePaymentActs } from './payment-acts.ts'
import { prepareProofActs } from './proof-acts.ts'
import { prepareSellerActs } from './seller-acts.ts'
import { prepareSessionActs } from './session-acts.ts'
import { prepareTransactionLists } from './transaction-lists.ts'

/** Everything that writes, and the reads that need what only the writer knows. */
function prepareActs(db: SqliteDatabase) {
  const audit = prepareAuditActs(db)
  const holds = prepareHoldActs(db)
  const agents = prepareAgentActs(db, audit, holds)
  const mandates = prepareMandateActs(db, audit, holds, agents)
  const sellers = prepareSellerActs(db, audit)
  const accounts = prepareAccountActs(db, audit)
  const acts = { ...audit, ...holds, ...agents, ...mandates, ...sellers, ...accounts }
  const transactionLists = prepareTransactionLists(db)
  const payments = preparePaymentActs(db, acts)
  const activity = prepareActivityActs(db)
  const agentFacts = prepareAgentFacts(db, { ...acts, ...transactionLists })
  return {
    transactionLists,
    payments,
    activity,
    accounts,
    acts: {
      createAccount: accounts.createAccount,
      moveAccount: accounts.moveAccount,
      issueApiKey: accounts.issueApiKey,
      revokeApiKey: accounts.revokeApiKey,
      createAgent: agents.createAgent,
      revokeAgent: agents.revokeAgent,
      createMandate: mandates.createMandate,
      moveMandate: mandates.moveMandate,
      createSeller: sellers.createSeller,
      claimDomain: (own: OwnDomain, event: AuditEvent) => {
        payments.forgetSeller(own.environment, own.domain)
        return sellers.claimDomain(own, event)
      },
      releaseDomain: (registration: Registration, events: ReleaseEvents) => {
        payments.forgetSeller(registration.environment, registration.domain)
        return sellers.releaseDomain(registration, events)
      },
      issueProof: payments.issueProof,
      ...prepareProofActs(db, audit, holds),
      capture: payments.capture,
      settleLate: payments.settleLate,
      evaluate: payments.evaluate,
      releaseExpiredHolds: holds.releaseExpiredHolds,
      readAgentFacts: agentFacts.readAgentFacts,
      recordEvent: audit.recordEvent,
      addTallies: activity.addTallies,
      addUpActivity: () => {
        const isMoreLeft = activity.addUpActivity()
        // It is asked again at once while more is left, and then after a while.
        if (!isMoreLeft) transactionLists.look()
        return isMoreLeft
      },
      /** Writes what is there already, to see whether commits work. */
      probeCommit(): void {
        db.pragma(`user_version = ${String(db.pragma('user_version', { simple: true }))}`)
      },
      ...prepareSessionActs(db, audit),
    },
  }
}

type Acts = ReturnType<typeof prepareActs>['acts']
export type ActName = keyof Acts

/** One act and what it is done with; it can be sent to another thread. */
export interface Call<Name extends ActName = ActName> {
  readonly act: Name
  readonly input: Parameters<Acts[Name]>
}
export type Outcome<Name extends ActName> = ReturnType<Acts[Name]>

/** Acts that write nothing. */
const readActs: ReadonlySet<ActName> = new Set(['readAgentFacts'])

/**
 * The ledger on a connection, which no other connection may write beside. It tells of each commit before it
 * begins: from then on others may see what was written.
 */
export function createLedger(db: SqliteDatabase, onCommit = () => undefined as void) {
  const { acts, accounts, payments, activity, transactionLists } = prepareActs(db)

  /**
   * Writes the calls as one transaction. When one of them throws, the whole is undone and each is written
   * by itself, so that a bad row never fails its neighbours; acts decide on what they read, so writing
   * them again is safe.
   */
  function write(calls: readonly Call[]): Settled<unknown>[] {
    try {
      if (calls.every(({ act }) => readActs.has(act))) return calls.map(settle)
      return inTransaction(() => calls.map(settle))
    } catch (error) {
      const failure = explainFailure(error)
      if (calls.length === 1 || failure instanceof StoreUnavailableError) {
        return calls.map(() => ({ error: failure }))
      }
      return calls.flatMap((call) => write([call]))
    }
  }

  function settle({ act, input }: Call): Settled<unknown> {
    return { value: (acts[act] as (...input: unknown[]) => unknown)(...input) }
  }

  function inTransaction<Result>(work: () => Result): Result {
    db.exec('begin immediate')
    try {
      const result = work()
      const recorded = payments.takeRecorded()
      const settleLists = transactionLists.writeSome(recorded.length)
      onCommit()
      db.exec('commit')
      settleLists()
      activity.committed()
      transactionLists.add(recorded)
      activity.addRecorded(recorded)
      return result
    } catch (error) {
      // First, so that nothing is remembered of the batch even where the disk refuses to undo it.
      payments.rolledBack()
      accounts.forgetDisabled()
      activity.rolledBack()
      if (db.inTransaction) db.exec('rollback')
      throw error
    }
  }

  return { write }
}
