import { randomUUID } from 'node:crypto'

import { auditEvent, dataOfStop } from '../../domain/audit.ts'
import { timeIn } from '../../domain/time/test-clock.ts'
import type { IdKind } from '../../domain/type-id.ts'
import { StoreUnavailableError, type AuthorizedPayment, type CaptureAttempt } from '../store.ts'
import { issueProof, revokeAgent, voidAll } from './several-transactions.ts'
import type { Ledger } from './ledger.ts'
import type { Operation, PortOperation, PortOperations } from './operation.ts'
import { createAccount, moveAccount } from './operations/accounts.ts'
import { amendMandate } from './operations/amendments.ts'
import { createAgent } from './operations/agents.ts'
import { issueApiKey, revokeApiKey } from './operations/api-keys.ts'
import {
  authorize,
  captureAuthorized,
  settleLateAuthorization,
  voidAuthorized,
  type PaidElsewhere,
} from './operations/authorizations.ts'
import { capture, settleLate, type Payer } from './operations/captures.ts'
import { decideApproval, requestIncrease } from './operations/approval-decisions.ts'
import { changeBudget } from './operations/limits/budget-changes.ts'
import { assignAgent, createBudget, freezeBudget } from './operations/limits/budgets.ts'
import { evaluate, isKnownSeller } from './operations/evaluations.ts'
import { addTallies, recordEvent } from './operations/figures.ts'
import { readBudgetUsage, readLimits, readMandateUsage } from './operations/limits/limit-usage.ts'
import { createMandate, moveMandate } from './operations/mandates.ts'
import { findEntry, refund } from './operations/refunds.ts'
import { claimDomain, createSeller, releaseDomain } from './operations/sellers.ts'
import { createSession, endSession, endSessionById, touchSession } from './operations/sessions.ts'
import { advanceClock, readClock } from './operations/limits/test-clocks.ts'
import { voidProof } from './operations/voids.ts'
import { findPartsIn, Rollup } from './rollup.ts'
import { continueStop, resumeAll, stopAll } from './stop-all.ts'
import { Sweep } from './sweep.ts'
import type { RunningStop } from './tables.ts'
import type { Reader } from '../sql.ts'

/** Creates an id with the time of its record. */
export type NextId = (kind: IdKind, atMs: number) => string

export interface LedgerOperationsOptions {
  readonly ledger: Pick<Ledger, 'run'>
  /** The account of a mandate; undefined for an unknown mandate. */
  readonly accountOfMandate: (mandateId: string) => string | undefined | Promise<string | undefined>
  /** For operations that read first. */
  readonly db: Reader
  readonly nextId: NextId
  /** Called before the answer to an operation that may change what a key may do. */
  readonly onKeysChanged?: () => void
}

export type LedgerOperations = PortOperations & { readonly close: () => Promise<void> }

/** The operations that may change what a key may do. */
const ofKeys = { createAccount, issueApiKey, revokeApiKey, moveAccount, advanceClock }

/** Other operations that are methods of the port without changes. */
const plain = {
  createAgent,
  assignAgent,
  createBudget,
  freezeBudget,
  changeBudget,
  readMandateUsage,
  readBudgetUsage,
  isKnownSeller,
  createMandate,
  amendMandate,
  moveMandate,
  decideApproval,
  requestIncrease,
  createSeller,
  claimDomain,
  releaseDomain,
  voidProof,
  createSession,
  touchSession,
  endSession,
  endSessionById,
}

/** The port's operations on a ledger. `close` resolves once every accepted operation has been answered. */
export function createLedgerOperations({
  ledger,
  accountOfMandate,
  db,
  nextId,
  onKeysChanged = () => undefined,
}: LedgerOperationsOptions): LedgerOperations {
  const sweep = new Sweep({ ledger, db })
  const rollup = new Rollup({ ledger, findParts: findPartsIn(db) })
  // A rerun recognizes only the latest tallies of a process, so they are added one after the other.
  const writerId = randomUUID()
  let tallying: Promise<void> = Promise.resolve()
  let isClosing = false
  let underWay = 0
  let onIdle: (() => void) | undefined

  async function track<Outcome>(work: () => Promise<Outcome>): Promise<Outcome> {
    if (isClosing) throw closedError()
    underWay += 1
    try {
      return await work()
    } finally {
      underWay -= 1
      if (underWay === 0) onIdle?.()
    }
  }

  /** The same operations; `close` waits for those in progress, and refuses further ones. */
  function tracked<Methods extends Readonly<Record<string, (...args: never[]) => unknown>>>(
    methods: Methods,
  ): Methods {
    const entries = Object.entries(methods).map(([name, method]) => {
      return [name, (...args: never[]) => track(async () => method(...args))]
    })
    return Object.fromEntries(entries) as Methods
  }

  /** The methods of the port that only run their operations. */
  function methodsOf<Name extends keyof PortOperations>(
    operations: { readonly [Key in Name]: PortOperation<Key> },
    run = (operation: Operation<unknown, unknown>, args: unknown) => ledger.run(operation, args),
  ): Pick<PortOperations, Name> {
    const entries = Object.entries<unknown>(operations).map(([name, operation]) => {
      return [name, (...args: unknown[]) => track(() => run(operation as Operation<unknown, unknown>, args))]
    })
    return Object.fromEntries(entries) as Pick<PortOperations, Name>
  }

  /** The attempt, with the account that pays. A proof of an unknown mandate has no payment. */
  async function payerOf<Attempt extends CaptureAttempt>(attempt: Attempt) {
    const payerId = (await accountOfMandate(attempt.mandateId)) ?? attempt.caller.accountId
    return { ...attempt, payerId }
  }

  /** Runs an operation on an authorized payment for the account that pays, which may be another one. */
  async function runForPayer<Call extends AuthorizedPayment, Outcome extends object>(
    operation: Operation<Call & Payer, Outcome | PaidElsewhere>,
    call: Call,
  ): Promise<Outcome> {
    const found = await ledger.run(operation, { ...call, payerId: call.caller.accountId })
    if (!isElsewhere(found)) return found
    const outcome = await ledger.run(operation, { ...call, payerId: found.payerId })
    if (isElsewhere(outcome)) throw new Error('another account than noted pays')
    return outcome
  }

  /** Continues a stop; resolves to the number of mandates that it paused. */
  async function resumeStop(running: RunningStop, now: () => number): Promise<number> {
    const { accountId, environment, stopId, actor, press } = running
    const clockOffsetMs = await ledger.run(readClock, { accountId, environment })
    const scope = { accountId, environment, clockOffsetMs }
    const nextEventId = () => nextId('auditEvent', now())
    const stop = { stopId, actor, now, nextEventId }
    const outcome = await continueStop({ ...stop, ledger, scope, press, isClosing: () => isClosing })
    if (!outcome || outcome.pausedNow === 0) return 0
    const atMs = timeIn(scope, now)
    const details = { id: nextEventId(), subjectId: stopId, data: dataOfStop(outcome), atMs }
    await ledger.run(recordEvent, auditEvent({ keyId: actor }, scope, { ...details, type: 'agents.stopped' }))
    return outcome.pausedNow
  }

  const operations = tracked({
    readClock: (scope) => ledger.run(readClock, scope),
    readClockOfMandate: async (mandateId, environment) => {
      const accountId = await accountOfMandate(mandateId)
      return accountId === undefined ? 0 : ledger.run(readClock, { accountId, environment })
    },
    readLimits: (proposed) => ledger.run(readLimits, proposed),

    voidHolds: (scope, event) =>
      voidAll(ledger, scope, () => ({ ...event, id: nextId('auditEvent', event.createdAtMs) })),
    revokeAgent: (agent, event) => revokeAgent(ledger, agent, event),

    issueProof: async (hold, requestKey, asking) => {
      const outcome = await issueProof(ledger, { hold, requestKey, ...asking })
      if (outcome.decision !== 'replayed') return outcome
      const { nonce, issuedAtMs, expiresAtMs, status, transactionId, captureDeadlineMs } = outcome.hold
      const first = { nonce, issuedAtMs, expiresAtMs, status, transactionId, captureDeadlineMs }
      return { ...outcome, hold: { ...hold, ...first } }
    },
    capture: async (attempt) => ledger.run(capture, await payerOf(attempt)),
    settleLate: async (attempt) => ledger.run(settleLate, await payerOf(attempt)),
    authorize: async (authorization, event) =>
      ledger.run(authorize, { ...(await payerOf(authorization)), event }),
    settleLateAuthorization: async (attempt) => ledger.run(settleLateAuthorization, await payerOf(attempt)),
    captureAuthorized: (settlement) => runForPayer(captureAuthorized, settlement),
    voidAuthorized: (payment, event) => runForPayer(voidAuthorized, { ...payment, event }),
    refund: async ({ transactionId: id, ...call }, events) => {
      const entry = await ledger.run(findEntry, { accountId: call.caller.accountId, id })
      if (entry?.environment !== call.caller.environment || entry.kind === 'more_denied') {
        return { outcome: 'refused', code: 'not_found' }
      }
      const { kind, payerId, nonce } = entry
      if ((kind !== 'paid' && kind !== 'received') || nonce === null) {
        return { outcome: 'refused', code: 'not_refundable' }
      }
      return ledger.run(refund, { ...call, payerId, nonce, events })
    },
    evaluate: (proposal) => ledger.run(evaluate, proposal),

    releaseExpiredHolds: (nowMs, maxMandates) =>
      sweep.releaseSome({ nowMs, maxMandates, nextCountId: () => nextId('transaction', nowMs) }),

    stopMandates: (scope, stop) => stopAll({ ...stop, ledger, scope }),
    continueStops: async (now) => {
      const due = await sweep.dueStops(now())
      const paused = await Promise.all(due.map((running) => resumeStop(running, now)))
      return paused.reduce((sum, one) => sum + one, 0)
    },
    resumeMandates: (scope, undo) => resumeAll({ ...undo, ledger, scope }),

    recordEvent: (event) => ledger.run(recordEvent, event),
    addUpActivity: (leastLength = 0) => rollup.addSome(leastLength),
    addTallies: (tallies) => {
      const call = { ...tallies, writerId, id: randomUUID() }
      tallying = tallying.catch(() => undefined).then(() => ledger.run(addTallies, call))
      return tallying
    },
  } satisfies Partial<PortOperations>)

  return {
    ...operations,
    ...methodsOf(ofKeys, (operation, args) => ledger.run(operation, args).finally(onKeysChanged)),
    ...methodsOf(plain),
    close: async () => {
      isClosing = true
      if (underWay > 0) await new Promise<void>((resolve) => (onIdle = resolve))
    },
  }
}

function isElsewhere(outcome: object): outcome is PaidElsewhere {
  return 'outcome' in outcome && outcome.outcome === 'elsewhere'
}

export function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('the store is closed', { retryAfterSeconds: 1 })
}
