import type { SystemContext } from '../routes/console/system.ts'
import { ledgerFiguresIntervalMs, ledgerFiguresPatienceMs } from '../limits.ts'
import { StoreMetrics, type QueueMetrics } from '../store/store-metrics.ts'
import type { Store } from '../store/store.ts'
import { family, single } from './catalogue.ts'
import { DecisionCounts } from './decision-counts.ts'
import type { Family } from './families.ts'
import type { Histogram } from './histogram.ts'
import { LedgerFigures } from './ledger-figures.ts'
import { EventLoopDelay, processFamilies } from './process-metrics.ts'
import { RequestDurations } from './request-durations.ts'

/** The parts of a ready service that are measured. */
export interface MeasuredService {
  readonly store: Pick<Store, 'readOpenHolds' | 'readFigures'>
  readonly readDisk: SystemContext['readDisk']
  readonly now: () => number
  /** Number of open client connections. */
  readonly countConnections: () => Promise<number>
  readonly build: Readonly<Record<'version' | 'commit' | 'node_version' | 'store', string>>
}

/** All measurements of one process. */
export class ServiceMetrics {
  readonly requests = new RequestDurations()
  readonly decisions = new DecisionCounts()
  readonly store = new StoreMetrics()
  readonly #eventLoop = new EventLoopDelay()
  #service: MeasuredService | undefined
  #ledger: LedgerFigures | undefined

  /** Call this when the service is ready. */
  watch(service: MeasuredService): void {
    this.#service = service
    this.#ledger = new LedgerFigures({
      ...service,
      intervalMs: ledgerFiguresIntervalMs,
      patienceMs: ledgerFiguresPatienceMs,
    })
  }

  /**
   * The metrics of this process. With several processes on one ledger, one of them reads the ledger figures.
   */
  async families({ readsLedger }: { readonly readsLedger: boolean }): Promise<Family[]> {
    const [ledger = [], process, connections] = await Promise.all([
      readsLedger ? this.#ledger?.families() : [],
      processFamilies(),
      this.#service?.countConnections(),
    ])
    return [
      ...this.requests.families(),
      ...this.decisions.families(),
      ...this.#storeFamilies(),
      ...ledger,
      ...process,
      family('purser_event_loop_delay_seconds', [{ labels: {}, value: this.#eventLoop.read() }]),
      ...(connections === undefined ? [] : [single('purser_http_connections', connections)]),
      ...(this.#service ? [family('purser_build_info', [{ labels: this.#service.build, value: 1 }])] : []),
    ]
  }

  stop(): void {
    this.#eventLoop.stop()
  }

  #storeFamilies(): Family[] {
    const { queues, pools } = this.store
    const ofQueues = (histogramOf: (queue: QueueMetrics) => Histogram) =>
      queues.map((queue) => ({ labels: { queue: queue.name }, value: histogramOf(queue).read() }))
    const counted = pools.map((pool) => ({ name: pool.name, ...pool.count() }))
    return [
      family(
        'purser_batch_operations',
        ofQueues(({ batchSizes }) => batchSizes),
      ),
      family(
        'purser_commit_duration_seconds',
        ofQueues(({ commits }) => commits),
      ),
      family(
        'purser_queue_wait_seconds',
        ofQueues(({ waits }) => waits),
      ),
      family(
        'purser_queue_depth',
        queues.map(({ name, waiting }) => ({ labels: { queue: name }, value: waiting() })),
      ),
      family(
        'purser_queue_limit',
        queues.map(({ name, limit }) => ({ labels: { queue: name }, value: limit })),
      ),
      family(
        'purser_database_connection_wait_seconds',
        pools.map(({ name, waits }) => ({ labels: { pool: name }, value: waits.read() })),
      ),
      family(
        'purser_database_connections',
        counted.flatMap(({ name, total, idle }) => [
          { labels: { pool: name, state: 'idle' }, value: idle },
          { labels: { pool: name, state: 'used' }, value: total - idle },
        ]),
      ),
      family(
        'purser_database_connections_limit',
        pools.map(({ name, limit }) => ({ labels: { pool: name }, value: limit })),
      ),
      family(
        'purser_database_connection_waiters',
        counted.map(({ name, waiting }) => ({ labels: { pool: name }, value: waiting })),
      ),
    ]
  }
}
