import type { Scope } from '../../domain/records.ts'
import { StoreUnavailableError } from '../store.ts'
import type { Ledger } from './ledger.ts'
import {
  listMandatesOf,
  pressStop,
  readStops,
  resumeMandate,
  stopMandate,
  undoStop,
  type StoppedMandate,
} from './operations/stops.ts'
import type { MandateRow } from './tables.ts'

export interface StopAllOptions {
  readonly ledger: Pick<Ledger, 'run'>
  readonly scope: Scope
  readonly actor: string
  readonly now: () => number
  readonly nextEventId: () => string
}

export interface StopAllOutcome {
  /** Those that it has paused, now or, under the same id, before. */
  readonly mandateIds: readonly string[]
  readonly voidedHolds: number
  /** Those that could not be stopped: they are locked, for example. `keepStopping` goes on with them. */
  readonly failedIds: readonly string[]
  readonly press: number
}

/** How many mandates are under way at once. */
const mandatesAtOnce = 100

/** How often a stop looks for mandates that were made or resumed while it went through the others. */
const maxLooks = 10

/**
 * Pauses every active mandate of a scope. One that fails is reported and holds up no other.
 *
 * @throws StoreUnavailableError when the ledger does not answer: the same stop is to be pressed again
 */
export async function stopAll(
  options: StopAllOptions & { readonly stopId: string },
): Promise<StopAllOutcome> {
  const { ledger, scope, stopId } = options
  // Mandates are stopped even while the press cannot be written down.
  const pressed = await ledger.run(pressStop, { scope, stopId }).catch(() => undefined)
  const covered = new Set<string>()
  let voidedHolds = 0
  let failedIds: string[] = []
  let isDone = false
  for (let look = 0; !isDone && look < maxLooks; look++) {
    isDone = true
    failedIds = []
    for await (const page of pagesOf(options)) {
      const wanted = page.filter((mandate) => mayStop(mandate, { stopId, look }))
      const ids = wanted.map(({ id }) => id)
      const stopped = await Promise.allSettled(ids.map((id) => stopOne(options, id, null)))
      for (const [index, result] of stopped.entries()) {
        const id = ids[index] ?? ''
        if (result.status === 'rejected') {
          failedIds.push(id)
          continue
        }
        const { outcome, voided } = result.value
        voidedHolds += voided
        if (outcome === 'stopped' || outcome === 'earlier') covered.add(id)
        if (outcome === 'stopped' || outcome === 'taken_over') isDone = false
      }
    }
  }
  const press = pressed ?? (await ledger.run(pressStop, { scope, stopId }))
  return { mandateIds: [...covered], voidedHolds, failedIds, press }
}

/** Tries again what a stop could not stop, until it is stopped, another stop is pressed, or this one is undone. */
export async function keepStopping(
  options: StopAllOptions & {
    readonly stopId: string
    readonly outcome: StopAllOutcome
    readonly sleep: (ms: number) => Promise<void>
    readonly isClosed: () => boolean
  },
): Promise<void> {
  let left = options.outcome.failedIds
  for (let pauseMs = 500; left.length > 0 && !options.isClosed(); pauseMs = Math.min(2 * pauseMs, 30_000)) {
    await options.sleep(pauseMs)
    const tried = await Promise.allSettled(left.map((id) => stopOne(options, id, options.outcome.press)))
    left = left.filter((_, index) => tried[index]?.status === 'rejected')
  }
}

/**
 * Resumes the mandates that a stop has paused, or those that any stop has when none is named. It resumes nothing once
 * another stop is pressed.
 *
 * @throws StoreUnavailableError when one of them could not be resumed: the same undo is to be asked for again
 */
export async function resumeAll(
  options: StopAllOptions & { readonly stopId: string | null },
): Promise<readonly string[]> {
  const { ledger, scope, actor, stopId, now, nextEventId } = options
  const last = await ledger.run(readStops, scope)
  if (last.presses === 0 || (stopId !== null && last.stopId !== stopId)) return []
  if (!(await ledger.run(undoStop, { scope, press: last.presses }))) return []
  const resumedIds: string[] = []
  let failure: unknown
  for await (const page of pagesOf(options)) {
    const stopped = page.filter(({ status, stoppedBy }) => status === 'paused' && stoppedBy !== null)
    const resumed = await Promise.allSettled(
      stopped.map(({ id }) => {
        const call = { mandate: { ...scope, id }, stopId, actor, atMs: now(), eventId: nextEventId() }
        return ledger.run(resumeMandate, { ...call, press: last.presses })
      }),
    )
    for (const [index, result] of resumed.entries()) {
      if (result.status === 'rejected') failure = result.reason
      else if (result.value) resumedIds.push(stopped[index]?.id ?? '')
    }
  }
  if (failure !== undefined) {
    const options = { retryAfterSeconds: 2, cause: failure }
    throw new StoreUnavailableError('not every mandate could be resumed', options)
  }
  return resumedIds
}

/** Whether a stop has anything to do with a mandate. */
function mayStop(
  { status, stoppedBy, openPayments }: MandateRow,
  { stopId, look }: { readonly stopId: string; readonly look: number },
): boolean {
  if (status === 'active') return true
  // Those that it has paused itself are told once.
  return status === 'paused' && stoppedBy !== null && (look === 0 || stoppedBy !== stopId || openPayments > 0)
}

function stopOne(
  { ledger, scope, actor, stopId, now, nextEventId }: StopAllOptions & { readonly stopId: string },
  id: string,
  press: number | null,
): Promise<StoppedMandate> {
  const mandate = { accountId: scope.accountId, environment: scope.environment, id }
  return ledger.run(stopMandate, { mandate, stopId, actor, atMs: now(), eventId: nextEventId(), press })
}

async function* pagesOf({ ledger, scope }: StopAllOptions): AsyncGenerator<readonly MandateRow[]> {
  let afterId: string | undefined = ''
  while (afterId !== undefined) {
    const page: readonly MandateRow[] = await ledger.run(listMandatesOf, {
      scope,
      afterId,
      limit: mandatesAtOnce,
    })
    yield page
    afterId = page.length < mandatesAtOnce ? undefined : page.at(-1)?.id
  }
}
