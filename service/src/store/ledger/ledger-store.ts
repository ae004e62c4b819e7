import { randomUUID } from 'node:crypto'

import { auditEvent, dataOfStop } from '../../domain/audit.ts'
import type { IdKind } from '../../domain/type-id.ts'
import type { ConsoleActs } from '../console/store.ts'
import {
  StoreUnavailableError,
  type Capture,
  type CaptureAttempt,
  type CaptureOutcome,
  type StoreActs,
} from '../store.ts'
import { issueProof, revokeAgent, voidAll } from './acts.ts'
import type { Ledger } from './ledger.ts'
import { createAccount, moveAccount } from './operations/accounts.ts'
import { createAgent } from './operations/agents.ts'
import { issueApiKey, revokeApiKey } from './operations/api-keys.ts'
import { evaluate } from './operations/evaluations.ts'
import { addTallies, recordEvent } from './operations/figures.ts'
import { createMandate, moveMandate } from './operations/mandates.ts'
import { capture, settleLate } from './operations/payments.ts'
import { claimDomain, createSeller, releaseDomain } from './operations/sellers.ts'
import { createSession, endSession, endSessionById, touchSession } from './operations/sessions.ts'
import { voidPayment } from './operations/voids.ts'
import { toAccount, toAgent, toApiKey, toHold, toMandate } from './reads/records.ts'
import type { Rollup } from './rollup.ts'
import { continueStop, resumeAll, stopAll } from './stop-all.ts'
import type { Sweep } from './sweep.ts'
import type { RunningStop } from './tables.ts'

/** A new id for a record that the port does not name, with the time of the record. */
export type NextId = (kind: IdKind, atMs: number) => string

export interface LedgerActsOptions {
  readonly ledger: Pick<Ledger, 'run'>
  /** The account of a mandate; undefined for an unknown mandate. */
  readonly accountOfMandate: (mandateId: string) => string | undefined | Promise<string | undefined>
  readonly sweep: Sweep
  readonly rollup: Rollup
  readonly nextId: NextId
  /** Called before the response to an operation that changes what a key may do, whatever its outcome. */
  readonly onKeysChanged?: () => void
}

export type LedgerActs = StoreActs & ConsoleActs & { readonly close: () => Promise<void> }

/** The port's operations on a ledger. `close` resolves when every accepted operation has been answered. */
export function createLedgerActs({
  ledger,
  accountOfMandate,
  sweep,
  rollup,
  nextId,
  onKeysChanged = () => undefined,
}: LedgerActsOptions): LedgerActs {
  /** Of this process: of the tallies that it adds, a rerun recognizes the last. So they are added one after the other. */
  const writerId = randomUUID()
  let tallying: Promise<void> = Promise.resolve()
  let isClosing = false
  let underWay = 0
  let onIdle: (() => void) | undefined

  async function act<Outcome>(work: () => Promise<Outcome>): Promise<Outcome> {
    begin()
    try {
      return await work()
    } finally {
      end()
    }
  }

  function begin(): void {
    if (isClosing) throw closedError()
    underWay += 1
  }

  function end(): void {
    underWay -= 1
    if (underWay === 0) onIdle?.()
  }

  function actOnKeys<Outcome>(work: () => Promise<Outcome>): Promise<Outcome> {
    return act(() => work().finally(onKeysChanged))
  }

  // One promise instead of three: captures are most of all calls.
  async function captureOnce(
    attempt: Capture,
    confirmCaller: (() => Promise<boolean>) | undefined,
  ): Promise<CaptureOutcome> {
    begin()
    try {
      const found = accountOfMandate(attempt.mandateId)
      const call = withPayer(attempt, found instanceof Promise ? await found : found)
      const outcome = await ledger.run(capture, call)
      // The transaction that captures has looked at the key itself.
      if (outcome.outcome === 'captured' || !confirmCaller || (await confirmCaller())) return outcome
      return { outcome: 'refused', code: 'invalid_api_key' }
    } finally {
      end()
    }
  }

  /** Continues a stop; resolves to the number of mandates that it paused. */
  async function goOn(running: RunningStop, now: () => number): Promise<number> {
    const { accountId, environment, stopId, actor, press } = running
    const scope = { accountId, environment }
    const nextEventId = () => nextId('auditEvent', now())
    const stop = { stopId, actor, now, nextEventId }
    const outcome = await continueStop({ ...stop, ledger, scope, press, isClosing: () => isClosing })
    if (!outcome || outcome.pausedNow === 0) return 0
    const details = { id: nextEventId(), subjectId: stopId, data: dataOfStop(outcome), atMs: now() }
    await ledger.run(recordEvent, auditEvent({ keyId: actor }, scope, { ...details, type: 'agents.stopped' }))
    return outcome.pausedNow
  }

  return {
    createAccount: (account, keys, events) =>
      actOnKeys(() => ledger.run(createAccount, { account, keys, events })),

    issueApiKey: (key, event) => actOnKeys(() => ledger.run(issueApiKey, { key, event })),

    revokeApiKey: (key, event) =>
      actOnKeys(async () => {
        const revoked = await ledger.run(revokeApiKey, { ...key, event })
        return typeof revoked === 'string' ? revoked : toApiKey(revoked)
      }),

    moveAccount: (id, to, move) =>
      actOnKeys(async () => {
        const moved = await ledger.run(moveAccount, { id, to, ...move })
        return moved === 'not_found' ? moved : toAccount(moved)
      }),

    voidSomeHolds: ({ accountId, environment }, event) =>
      act(async () => {
        const events = [event]
        await voidAll(ledger, { accountId, environment }, () => {
          return events.pop() ?? { ...event, id: nextId('auditEvent', event.createdAtMs) }
        })
        return { isMoreLeft: false }
      }),

    createAgent: (agent, event) =>
      act(async () => {
        await ledger.run(createAgent, { agent, event })
      }),

    revokeAgent: (agent, event) =>
      act(async () => {
        const revoked = await revokeAgent(ledger, { agent, event })
        return revoked === 'not_found' ? revoked : toAgent(revoked)
      }),

    createMandate: (mandate, event) => act(() => ledger.run(createMandate, { mandate, event })),

    moveMandate: (mandate, to, event) =>
      act(async () => {
        const moved = await ledger.run(moveMandate, { mandate, to, event })
        return typeof moved === 'string' ? moved : toMandate(moved)
      }),

    createSeller: (seller, event) => act(() => ledger.run(createSeller, { seller, event })),
    claimDomain: (own, event) => act(() => ledger.run(claimDomain, { own, event })),
    releaseDomain: (registration, events) => act(() => ledger.run(releaseDomain, { registration, events })),

    issueProof: (hold, requestKey) =>
      act(async () => {
        const outcome = await issueProof(ledger, { hold, requestKey })
        if (outcome.decision !== 'replayed') return outcome
        const { nonce, issuedAtMs, expiresAtMs, status, transactionId } = outcome.hold
        return { ...outcome, hold: { ...hold, nonce, issuedAtMs, expiresAtMs, status, transactionId } }
      }),

    voidProof: ({ accountId, environment, nonce }, { agentId }, event) =>
      act(async () => {
        const call = { accountId, environment, nonce, agentId, event }
        const payment = await ledger.run(voidPayment, call)
        return payment && toHold(payment, payment.epoch)
      }),

    capture: captureOnce,
    settleLate: (attempt) =>
      act(async () => {
        const accountId = await accountOfMandate(attempt.mandateId)
        return ledger.run(settleLate, withPayer(attempt, accountId))
      }),
    evaluate: (proposal) => act(() => ledger.run(evaluate, proposal)),

    releaseExpiredHolds: (nowMs, maxMandates) =>
      act(() => sweep.releaseSome({ nowMs, maxMandates, nextCountId: () => nextId('transaction', nowMs) })),

    createSession: (session, event) => act(() => ledger.run(createSession, { session, event })),
    touchSession: (session, usedAtMs) => act(() => ledger.run(touchSession, { session, usedAtMs })),
    endSession: (session, event) => act(() => ledger.run(endSession, { session, event })),
    endSessionById: (session, event) => act(() => ledger.run(endSessionById, { session, event })),
    stopMandates: ({ accountId, environment }, stop) =>
      act(() => stopAll({ ...stop, ledger, scope: { accountId, environment } })),
    continueStops: (now) =>
      act(async () => {
        const due = await sweep.dueStops(now())
        const paused = await Promise.all(due.map((running) => goOn(running, now)))
        return paused.reduce((sum, one) => sum + one, 0)
      }),
    resumeMandates: ({ accountId, environment }, undo) =>
      act(() => resumeAll({ ...undo, ledger, scope: { accountId, environment } })),
    recordEvent: (event) => act(() => ledger.run(recordEvent, event)),
    addUpActivity: () => act(() => rollup.addSome()),
    addTallies: (tallies) =>
      act(() => {
        const call = { ...tallies, writerId, id: randomUUID() }
        tallying = tallying.catch(() => undefined).then(() => ledger.run(addTallies, call))
        return tallying
      }),

    close: async () => {
      isClosing = true
      if (underWay > 0) await new Promise<void>((resolve) => (onIdle = resolve))
    },
  }
}

/** A proof of an unknown mandate has no payment. */
function withPayer<Attempt extends CaptureAttempt>(attempt: Attempt, accountId: string | undefined) {
  return { ...attempt, payerId: accountId ?? attempt.caller.accountId }
}

export function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('the store is closed', { retryAfterSeconds: 1 })
}
