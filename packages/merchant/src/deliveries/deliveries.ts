import { inTime } from './in-time.ts'
import { keepInProcess, type DeliveryStore, type KeptDelivery } from './delivery-store.ts'

/** Max runs of a handler per payment, so that a customer who disconnects cannot cause unlimited work. */
const maxRuns = 3

const keptForMs = 3_600_000

/** How long a request waits for another request that is delivering for the same proof, and its polling interval. */
const patienceMs = 2_000
const pollMs = 25

/** Timeout for one call to the store. */
const storeLimit = { ms: 5_000, message: 'The delivery store did not answer within 5000 ms' }

interface DeliveriesOptions {
  readonly store?: DeliveryStore
  readonly leaseMs: number
  readonly onError: (error: unknown) => void
}

/** The stored state of a proof, as JSON. */
interface DeliveryRecord {
  readonly state: 'claimed' | 'open' | 'delivered' | 'failed' | 'voided'
  /** The idempotency key of this delivery's verifications. */
  readonly key: string
  /** How many handler runs did not deliver the goods completely. */
  readonly runs: number
  /** While claimed: when others may take over unless the claim is renewed. */
  readonly untilMs?: number | undefined
  /** The metered amount of a capture that may have been made: a retry must repeat it. */
  readonly amount?: string | undefined
  /** Whether the service has surely accepted the payment. */
  readonly isAccepted?: true | undefined
}

/** A delivery that this request owns. The claim is renewed until one of the methods is called. */
export interface Claim {
  readonly key: string
  /** Whether an earlier request may have paid for it. */
  readonly isResumed: boolean
  /** Whether there will be no further run of the handler if this one does not deliver. */
  readonly isLastRun: boolean
  /**
   * Whether the claim is still this request's own, so that it may capture or void. Stores the amount to capture, unless
   * an earlier run has stored one; the result has the one that counts.
   */
  readonly confirm: (
    amount?: string,
  ) => Promise<{ readonly isOwn: boolean; readonly amount?: string | undefined }>
  /** The goods were delivered. */
  readonly delivered: () => Promise<void>
  /**
   * Charged but not delivered completely: the next request may run the handler again, at most three times in total.
   */
  readonly notDelivered: () => Promise<void>
  /** Charged or authorized, but the handler did not run: the next request may run it. */
  readonly notStarted: () => Promise<void>
  /** The result of the charge is unknown: the next request retries with the same key. */
  readonly inDoubt: () => Promise<void>
  /** Nothing was charged, and this proof never will be. */
  readonly voided: () => Promise<void>
  /** Nothing was charged, or the result of the delivery will not be reported. */
  readonly forget: () => Promise<void>
}

/** Gives each delivery to one request at a time, across all processes that share the store. */
export function createDeliveries({ store = keepInProcess(), leaseMs, onError }: DeliveriesOptions) {
  /** Claims the delivery of a proof, waiting briefly while another request owns it. */
  return async (id: string, signal: AbortSignal): Promise<Claim | 'in progress' | Ended> => {
    const patienceEndsMs = Date.now() + patienceMs
    for (;;) {
      signal.throwIfAborted()
      const text = await inTime(store.read(id), storeLimit)
      const found = text === undefined ? undefined : (JSON.parse(text) as DeliveryRecord)
      if (found && isEnded(found.state)) return found.state
      const isLapsed = found?.state === 'claimed' && !(Date.now() < (found.untilMs ?? 0))
      if (found?.state === 'claimed' && !isLapsed) {
        if (Date.now() >= patienceEndsMs) return 'in progress'
        await new Promise((resolve) => setTimeout(resolve, pollMs))
        continue
      }
      // A process that died may have started the handler.
      const runs = (found?.runs ?? 0) + (isLapsed ? 1 : 0)
      const key = found?.key ?? crypto.randomUUID()
      const record =
        runs < maxRuns ? claimed({ ...found, key, runs }) : ({ state: 'failed', key, runs } as const)
      if (!(await inTime(store.replace(id, text, kept(record)), storeLimit))) continue
      return record.state === 'failed' ? 'failed' : hold(id, record, found !== undefined)
    }
  }

  function claimed({ key, runs, amount, isAccepted }: Omit<DeliveryRecord, 'state'>): DeliveryRecord {
    return { state: 'claimed', key, runs, untilMs: Date.now() + leaseMs, amount, isAccepted }
  }

  function hold(id: string, record: DeliveryRecord, isResumed: boolean): Claim {
    const { key, runs, isAccepted } = record
    let { amount } = record
    let current = JSON.stringify(record)
    let isOver = false
    let renewal = Promise.resolve()
    const timer = setInterval(() => void (renewal = renewal.then(renew)), leaseMs / 3)
    // Only Node's timers keep a process alive.
    if (typeof timer === 'object') timer.unref()

    /** What this claim has tried to store: a store may have changed it, although its answer was lost. */
    const tried = new Set([current])

    /** Replaces the record of this claim; false if there is another one, or none. */
    async function put(next: KeptDelivery | undefined): Promise<boolean> {
      if (next) tried.add(next.text)
      const isReplaced = async () => inTime(store.replace(id, current, next), storeLimit)
      let lost: { readonly error: unknown } | undefined
      let isMade = await isReplaced().catch((error: unknown) => {
        lost = { error }
        return false
      })
      if (!isMade) {
        const text = await inTime(store.read(id), storeLimit)
        isMade = text === next?.text && (text !== undefined || lost !== undefined)
        if (!isMade && text !== undefined && tried.has(text)) {
          current = text
          isMade = await isReplaced()
        } else if (!isMade && lost) throw lost.error
      }
      if (isMade && next) {
        current = next.text
        tried.clear()
        tried.add(current)
      }
      return isMade
    }

    async function renew(): Promise<void> {
      const next = kept(claimed({ key, runs, amount, isAccepted }))
      try {
        if (!isOver) await put(next)
      } catch (error) {
        onError(error)
      }
    }

    async function take(toCapture: string | undefined): Promise<boolean> {
      if (isOver) return false
      const next = kept(claimed({ key, runs, amount: amount ?? toCapture, isAccepted }))
      // A full store may have dropped it.
      if (!(await put(next)) && !(await inTime(store.replace(id, undefined, next), storeLimit))) return false
      current = next.text
      amount ??= toCapture
      return true
    }

    async function end(record: DeliveryRecord | undefined): Promise<void> {
      if (isOver) return
      // A delivery marked as delivered when it was charged may still fail.
      isOver = record !== undefined
      clearInterval(timer)
      await renewal
      try {
        const to = record && kept(record)
        const isReplaced = await put(to)
        if (!isReplaced && to) await inTime(store.replace(id, undefined, to), storeLimit)
      } catch (error) {
        onError(error)
      }
    }

    return {
      key,
      isResumed,
      isLastRun: runs + 1 >= maxRuns,
      confirm: async (toCapture) => {
        const taken = renewal.then(() => take(toCapture))
        renewal = taken.then(
          () => undefined,
          () => undefined,
        )
        return { isOwn: await taken, amount }
      },
      delivered: () => end({ state: 'delivered', key, runs }),
      notDelivered: () =>
        end({ state: runs + 1 < maxRuns ? 'open' : 'failed', key, runs: runs + 1, amount, isAccepted: true }),
      notStarted: () => end({ state: 'open', key, runs, amount, isAccepted: true }),
      inDoubt: () => end({ state: 'open', key, runs, amount, isAccepted }),
      voided: () => end({ state: 'voided', key, runs }),
      forget: () => end(undefined),
    }
  }
}

/** The states in which a proof buys nothing any more. */
const endedStates = ['delivered', 'failed', 'voided'] as const

type Ended = (typeof endedStates)[number]

function isEnded(state: DeliveryRecord['state']): state is Ended {
  return endedStates.some((ended) => ended === state)
}

function kept(record: DeliveryRecord): KeptDelivery {
  return {
    text: JSON.stringify(record),
    keepUntilMs: Date.now() + keptForMs,
    // A handler runs only for accepted payments.
    worth: isEnded(record.state) ? 'ended' : record.runs > 0 || record.isAccepted ? 'paid' : 'doubtful',
  }
}
