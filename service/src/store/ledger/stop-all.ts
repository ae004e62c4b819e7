import { timeIn } from '../../domain/time/test-clock.ts'
import { addMicro, type MicroUsdc } from '../../domain/money.ts'
import type { Scope } from '../../domain/records.ts'
import type { ResumeOutcome, StopCall, StopOutcome, UndoCall } from '../console/store.ts'
import { StoreUnavailableError } from '../store.ts'
import { forEachMandate } from './several-transactions.ts'
import type { Ledger } from './ledger.ts'
import {
  endStop,
  pressStop,
  readStops,
  resumeMandate,
  stopMandate,
  stopRetryMs,
  takeStop,
  undoStop,
  type StoppedMandate,
} from './operations/stops.ts'

/** `now` is the time of the service: it decides when a stop is continued. Mandates and events have the account's time. */
export type StopAllOptions = StopCall & {
  readonly ledger: Pick<Ledger, 'run'>
  readonly scope: Scope
}

export type ResumeAllOptions = UndoCall & Pick<StopAllOptions, 'ledger' | 'scope'>

/** How long a stop or its undo waits for one mandate, while its caller waits for the response. */
const ofOneMandate = { patienceMs: 4_000 }

/** How often a stop searches for mandates that were created or resumed while it went through the others. */
const maxLooks = 5

/**
 * Pauses every active mandate of a scope. A failing one is reported and delays no other; the stop then stays
 * open for `continueStop`.
 *
 * @throws StoreUnavailableError if the ledger does not answer: retry the same stop
 */
export async function stopAll(options: StopAllOptions): Promise<StopOutcome> {
  const { ledger, scope, stopId, actor, now } = options
  const pressing = { scope, stopId, actor, atMs: now() }
  // Mandates are stopped even if the stop itself cannot be recorded yet.
  const pressed = await ledger.run(pressStop, pressing).catch(() => undefined)
  const looks = newLooks()
  for (let look = 0; look < maxLooks; look++) {
    const isMoved = await lookOnce(options, {
      press: pressed ?? null,
      own: look === 0 ? 'locked' : 'left',
      looks,
    })
    if (!isMoved) break
  }
  return end(options, pressed ?? (await ledger.run(pressStop, pressing)), looks)
}

/**
 * Continues a stop that was interrupted or could not stop every mandate, until another stop begins or this
 * one is undone. Undefined if another service is continuing it.
 */
export async function continueStop(
  options: StopAllOptions & { readonly press: number; readonly isClosing: () => boolean },
): Promise<StopOutcome | undefined> {
  const { ledger, scope, press, now } = options
  if (!(await ledger.run(takeStop, { scope, press, atMs: now() }))) return undefined
  const looks = newLooks()
  await lookOnce(options, { press, own: 'counted', looks })
  return end(options, press, looks)
}

/**
 * Resumes the mandates that a stop paused, or those of every stop if none is named. Resumes nothing once
 * another stop begins, or if the last one has another number than the given one; if none is named, nothing
 * either while a stop goes through the mandates.
 */
export async function resumeAll(options: ResumeAllOptions): Promise<ResumeOutcome> {
  const { ledger, scope, actor, stopId, stopNumber = null, now, nextEventId } = options
  const last = await ledger.run(readStops, scope)
  const isNumbered = stopNumber !== null
  if (isNumbered && stopNumber !== last.presses) return { mandateIds: [], isAnotherStop: true }
  if (last.presses === 0 || (stopId !== null && last.stopId !== stopId)) return { mandateIds: [] }
  const undo = { scope, press: last.presses, isNamed: isNumbered || stopId !== null, atMs: now() }
  if (!(await ledger.run(undoStop, undo)))
    return { mandateIds: [], ...(isNumbered && { isAnotherStop: true }) }
  const mandateIds: string[] = []
  let failure: Error | undefined
  await forEachMandate(ledger, scope, async ({ id, status, stoppedBy }) => {
    if (status !== 'paused' || stoppedBy === null) return
    const atMs = timeIn(scope, now)
    const call = { mandate: { ...scope, id }, stopId, actor, atMs, eventId: nextEventId() }
    try {
      const isResumed = await ledger.run(resumeMandate, { ...call, press: last.presses }, ofOneMandate)
      if (isResumed) mandateIds.push(id)
    } catch (cause) {
      failure = new StoreUnavailableError('not every mandate could be resumed', {
        retryAfterSeconds: 2,
        cause,
      })
    }
  })
  return { mandateIds, ...(failure && { failure }) }
}

/** What a stop has found so far. */
interface Looks {
  readonly covered: Set<string>
  readonly failed: Set<string>
  paused: number
  voidedHolds: number
  /** The authorized payments that the last pass found. Stopped mandates authorize nothing more. */
  outstanding: StopOutcome['outstanding']
}

const noneOutstanding = { count: 0, amountMicro: 0n as MicroUsdc }

function newLooks(): Looks {
  return { covered: new Set(), failed: new Set(), paused: 0, voidedHolds: 0, outstanding: noneOutstanding }
}

/** Goes through the mandates of a scope once, and stops the active ones; returns whether there were any. */
async function lookOnce(
  options: StopAllOptions & { readonly isClosing?: () => boolean },
  {
    press,
    own,
    looks,
  }: {
    readonly press: number | null
    /**
     * How to treat mandates that the same stop paused before. Counting takes no lock: no decision based on
     * earlier reads resumes one, since the row of the stop is rechecked at each commit.
     */
    readonly own: 'locked' | 'counted' | 'left'
    readonly looks: Looks
  },
): Promise<boolean> {
  const { ledger, scope, stopId, isClosing } = options
  let isMoved = false
  looks.outstanding = noneOutstanding
  await forEachMandate(ledger, scope, async (mandate) => {
    const { id, status, stoppedBy, stoppedPayments, authorizedPayments, authorizedMicro } = mandate
    const { count, amountMicro } = looks.outstanding
    looks.outstanding = {
      count: count + authorizedPayments,
      amountMicro: addMicro(amountMicro, authorizedMicro),
    }
    const isStopped = status === 'paused' && stoppedBy !== null
    const isOwn = isStopped && stoppedBy === stopId
    if (isOwn && own === 'counted') {
      looks.covered.add(id)
      looks.voidedHolds += stoppedPayments
    }
    // An undo that began before the stop may still resume it, unless it is locked after the stop.
    const isWanted = status === 'active' || (isOwn ? own === 'locked' : isStopped)
    if (!isWanted || looks.failed.has(id)) return
    const stopped = isClosing?.() ? undefined : await stopOne(options, id, press).catch(() => undefined)
    // A mandate that another stop pauses, or that an undo leaves active, must not be reported as paused.
    if (!stopped || stopped.outcome === 'superseded') {
      looks.failed.add(id)
      return
    }
    const { outcome, voided } = stopped
    looks.voidedHolds += voided
    if (outcome === 'stopped') looks.paused += 1
    if (outcome === 'stopped' || outcome === 'earlier') looks.covered.add(id)
    if (outcome === 'stopped' || outcome === 'taken_over') isMoved = true
  })
  return isMoved
}

/** Records that a stop has gone through every mandate. */
async function end(
  { ledger, scope, now }: StopAllOptions,
  press: number,
  { covered, failed, paused, voidedHolds, outstanding }: Looks,
): Promise<StopOutcome> {
  const tryAtMs = failed.size === 0 ? null : now() + stopRetryMs
  await ledger.run(endStop, { scope, press, tryAtMs })
  return { mandateIds: [...covered], pausedNow: paused, voidedHolds, failedIds: [...failed], outstanding }
}

function stopOne(
  { ledger, scope, actor, stopId, now, nextEventId }: StopAllOptions,
  id: string,
  press: number | null,
): Promise<StoppedMandate> {
  const mandate = { accountId: scope.accountId, environment: scope.environment, id }
  const call = { mandate, stopId, actor, atMs: timeIn(scope, now), eventId: nextEventId(), press }
  return ledger.run(stopMandate, call, ofOneMandate)
}
