import { seededRandom } from '../../testing/seeded-random.ts'
import { VirtualTime } from '../simulation/virtual-time.ts'
import type { Answer, Evidence, Request } from './history.ts'
import { trade } from './market.ts'
import { ModelLedger } from './model-ledger.ts'
import { record } from './recorder.ts'

const ownerKeyId = 'owner'
const collectorKeyId = 'collector'
const operatorKeyId = 'operator'

interface ModelRun {
  readonly hasOperator?: boolean
  /** How long the clients trade, by a clock that jumps from one event to the next. */
  readonly openMs?: number
}

/**
 * The result of a correct ledger: many concurrent clients, some of whose requests and answers are lost or
 * delayed. Deterministic for each seed.
 */
export async function runModel(
  seed: number,
  { hasOperator = false, openMs = 15 * 60_000 }: ModelRun = {},
): Promise<Evidence> {
  const random = seededRandom(seed)
  const time = new VirtualTime(Date.UTC(2026, 10, 20, 12))
  const ledger = new ModelLedger([ownerKeyId, collectorKeyId, operatorKeyId])
  const { sleep } = time
  const closesAtMs = time.nowMs + openMs

  /** A request's round trip, with everything that can happen to it. */
  async function send(keyId: string, request: Request): Promise<Answer> {
    const fate = random.below(100)
    await sleep(random.below(20))
    if (fate < 3) return { is: 'unknown' }
    if (fate < 5) return { is: 'unavailable' }
    const arrivedAtMs = time.nowMs
    if (!ledger.admits(keyId)) return { is: 'unauthorized' }
    const act = async (): Promise<Answer> => {
      await sleep(random.below(fate % 7 === 0 ? 2_000 : 60))
      return ledger.act(keyId, request, arrivedAtMs)
    }
    if (fate < 8) {
      // No client knows that it is still in progress.
      const late = sleep(random.below(5_000)).then(act)
      await sleep(random.below(1_000))
      void late
      return { is: fate < 7 ? 'unknown' : 'unavailable' }
    }
    const answer = await act()
    await sleep(random.below(20))
    return fate < 12 ? { is: 'unknown' } : answer
  }

  async function sweepForEver(): Promise<void> {
    for (;;) {
      await sleep(30_000)
      ledger.sweep(time.nowMs)
    }
  }

  const recorder = record(send, () => time.nowMs)
  const market = {
    send: recorder.send,
    sleep,
    random,
    isOpen: () => time.nowMs < closesAtMs,
    ownerKeyId,
    collectorKeyId,
    operatorKeyId: hasOperator ? operatorKeyId : undefined,
  }
  void sweepForEver()
  await time.runUntil(trade(market, { buyers: 2, owners: 2, teams: 3 }))
  // Everything in progress completes, and expired holds are released.
  await time.runUntil(sleep(60_000))
  return { calls: recorder.calls, content: ledger.content(time.nowMs) }
}
