import { keepInProcess, type DeliveryStore, type KeptDelivery } from './delivery-store.ts'

/** The most runs of a handler that one payment gets, so that a customer who hangs up cannot have work done for ever. */
const maxRuns = 3

const keptForMs = 3_600_000

/** How long a request waits for another one that is delivering for the same proof, and how often it looks. */
const patienceMs = 2_000
const pollMs = 25

/** For one question to the store. */
const storeTimeoutMs = 5_000

interface DeliveriesOptions {
  readonly store?: DeliveryStore
  readonly leaseMs: number
  readonly onError: (error: unknown) => void
}

/** What the store holds about a proof, as JSON. */
interface DeliveryRecord {
  readonly state: 'claimed' | 'open' | 'delivered' | 'failed'
  /** The idempotency key of every verification that is sent for this delivery, and of no other. */
  readonly key: string
  /** How often the handler was run for it and the goods did not go out whole. */
  readonly runs: number
  /** While it is claimed: when others may take it over, unless the claim is renewed. */
  readonly untilMs?: number | undefined
}

/** A delivery that this request alone may make. It ends with one of the methods; until then it is renewed. */
export interface Claim {
  readonly key: string
  /** Whether an earlier request may have paid for it. */
  readonly isResumed: boolean
  /** The goods went out. */
  readonly delivered: () => Promise<void>
  /** It was charged and the goods did not go out whole: the next request gets another run of the handler, at most three in all. */
  readonly notDelivered: () => Promise<void>
  /** Nobody knows whether it was charged: the next request asks again, with the same key. */
  readonly inDoubt: () => Promise<void>
  /** Nothing was charged, or nobody will say how it ended. */
  readonly forget: () => Promise<void>
}

/** Makes what gives each delivery to one request at a time, in this process and all others that share the store. */
export function createDeliveries({ store = keepInProcess(), leaseMs, onError }: DeliveriesOptions) {
  /** Claims the delivery of a proof; waits a moment while another request has it. */
  return async (id: string, signal: AbortSignal): Promise<Claim | 'in progress' | 'delivered' | 'failed'> => {
    const patienceEndsMs = Date.now() + patienceMs
    for (;;) {
      signal.throwIfAborted()
      const text = await inTime(store.read(id))
      const found = text === undefined ? undefined : (JSON.parse(text) as DeliveryRecord)
      if (found?.state === 'delivered' || found?.state === 'failed') return found.state
      const isLapsed = found?.state === 'claimed' && !(Date.now() < (found.untilMs ?? 0))
      if (found?.state === 'claimed' && !isLapsed) {
        if (Date.now() >= patienceEndsMs) return 'in progress'
        await new Promise((resolve) => setTimeout(resolve, pollMs))
        continue
      }
      // A process that died had perhaps begun to run the handler.
      const runs = (found?.runs ?? 0) + (isLapsed ? 1 : 0)
      const key = found?.key ?? crypto.randomUUID()
      const record = runs < maxRuns ? claimed(key, runs) : ({ state: 'failed', key, runs } as const)
      if (!(await inTime(store.replace(id, text, kept(record))))) continue
      return record.state === 'failed' ? 'failed' : hold(id, record, found !== undefined)
    }
  }

  function claimed(key: string, runs: number): DeliveryRecord {
    return { state: 'claimed', key, runs, untilMs: Date.now() + leaseMs }
  }

  function hold(id: string, { key, runs, untilMs }: DeliveryRecord, isResumed: boolean): Claim {
    let current = JSON.stringify({ state: 'claimed', key, runs, untilMs } satisfies DeliveryRecord)
    let isOver = false
    let renewal = Promise.resolve()
    const timer = setInterval(() => void (renewal = renewal.then(renew)), leaseMs / 3)
    // Only Node's timers keep a process alive.
    if (typeof timer === 'object') timer.unref()

    async function renew(): Promise<void> {
      const next = kept(claimed(key, runs))
      try {
        if (!isOver && (await inTime(store.replace(id, current, next)))) current = next.text
      } catch (error) {
        onError(error)
      }
    }

    async function end(record: DeliveryRecord | undefined): Promise<void> {
      if (isOver) return
      // What was forgotten at the charge may still turn out not to be delivered.
      isOver = record !== undefined
      clearInterval(timer)
      await renewal
      try {
        const to = record && kept(record)
        const isReplaced = await inTime(store.replace(id, current, to))
        if (!isReplaced && to) await inTime(store.replace(id, undefined, to))
      } catch (error) {
        onError(error)
      }
    }

    return {
      key,
      isResumed,
      delivered: () => end({ state: 'delivered', key, runs }),
      notDelivered: () => end({ state: runs + 1 < maxRuns ? 'open' : 'failed', key, runs: runs + 1 }),
      inDoubt: () => end({ state: 'open', key, runs }),
      forget: () => end(undefined),
    }
  }
}

function kept(record: DeliveryRecord): KeptDelivery {
  const isEnded = record.state === 'delivered' || record.state === 'failed'
  return {
    text: JSON.stringify(record),
    keepUntilMs: Date.now() + keptForMs,
    // A handler is run for what was charged, and for nothing else.
    worth: isEnded ? 'ended' : record.runs > 0 ? 'paid' : 'doubtful',
  }
}

async function inTime<Value>(value: Value | Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`The delivery store did not answer within ${storeTimeoutMs} ms`)
    timer = setTimeout(() => reject(error), storeTimeoutMs)
  })
  return Promise.race([value, late]).finally(() => clearTimeout(timer))
}
