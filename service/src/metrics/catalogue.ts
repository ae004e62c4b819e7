import type { Aggregate, Family, Sample } from './families.ts'

/** All metrics. The table in docs/guides/operators.md explains each, and a test compares the two. */
export const catalogue = {
  http_server_request_duration_seconds: {
    type: 'histogram',
    help: 'Duration of HTTP requests, by method, route and status; 499 if the client disconnected first.',
  },
  purser_http_connections: { type: 'gauge', help: 'Open client connections.' },
  purser_verifications_total: { type: 'counter', help: 'Proof verifications, by result and reason.' },
  purser_proofs_total: { type: 'counter', help: 'Proof requests, by decision and reason.' },
  purser_evaluations_total: { type: 'counter', help: 'Evaluations, by decision and reason.' },
  purser_batch_operations: {
    type: 'histogram',
    help: 'Operations per store transaction, by queue.',
  },
  purser_commit_duration_seconds: {
    type: 'histogram',
    help: 'Duration of store transactions until durable, by queue.',
  },
  purser_queue_wait_seconds: {
    type: 'histogram',
    help: 'How long the first operation of each batch waited, by queue.',
  },
  // Each worker has its own queue: a sum over all would hide that one is full.
  purser_queue_depth: {
    type: 'gauge',
    aggregate: 'max',
    help: 'Operations waiting for the store or being written, by queue; with several workers, the longest queue.',
  },
  purser_queue_limit: {
    type: 'gauge',
    aggregate: 'max',
    help: 'Max waiting operations of each worker, by queue; more get a 503.',
  },
  purser_database_connection_wait_seconds: {
    type: 'histogram',
    help: 'Time spent waiting for a database connection, by pool.',
  },
  purser_database_connections: {
    type: 'gauge',
    help: 'Database connections, by pool and state: idle or used.',
  },
  purser_database_connections_limit: { type: 'gauge', help: 'Max database connections, by pool.' },
  purser_database_connection_waiters: {
    type: 'gauge',
    help: 'Requests waiting for a database connection, by pool.',
  },
  purser_open_holds: {
    type: 'gauge',
    aggregate: 'max',
    help: 'Open proofs in the whole ledger, including expired ones that are not released yet.',
  },
  purser_sweep_lag_seconds: {
    type: 'gauge',
    aggregate: 'max',
    help: 'Seconds since the expiry of the oldest proof that is not released yet; 0 if there is none.',
  },
  purser_store_size_bytes: { type: 'gauge', aggregate: 'max', help: 'Size of the ledger.' },
  purser_store_disk_free_bytes: {
    type: 'gauge',
    aggregate: 'max',
    help: 'Free space on the disk of the ledger; SQLite only.',
  },
  purser_ledger_read_timestamp_seconds: {
    type: 'gauge',
    aggregate: 'max',
    help: 'When open proofs, sweep lag and sizes were last read.',
  },
  purser_event_loop_delay_seconds: {
    type: 'histogram',
    help: 'Delay of a 100 ms timer: how long the event loop was busy.',
  },
  purser_build_info: {
    type: 'gauge',
    aggregate: 'max',
    help: 'Always 1; labels: version, commit, Node version and kind of store.',
  },
  purser_workers: { type: 'gauge', aggregate: 'max', help: 'Expected worker processes.' },
  purser_workers_scraped: {
    type: 'gauge',
    aggregate: 'max',
    help: 'Processes included in this scrape; fewer than purser_workers if one hangs or is starting.',
  },
  purser_worker_ends_total: { type: 'counter', help: 'Worker processes that exited and were replaced.' },
  process_cpu_seconds_total: { type: 'counter', help: 'User and system CPU time.' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory.' },
  process_start_time_seconds: {
    type: 'gauge',
    aggregate: 'min',
    help: 'Start time of the oldest process, since 1970.',
  },
  process_open_fds: { type: 'gauge', help: 'Open file descriptors; Linux only.' },
  nodejs_heap_size_used_bytes: { type: 'gauge', help: 'Used JavaScript heap.' },
} as const satisfies Record<string, Definition>

interface Definition {
  readonly type: Family['type']
  readonly help: string
  /** Default: the sum. */
  readonly aggregate?: Aggregate
}

export type MetricName = keyof typeof catalogue

/**
 * A metric of the catalogue with its series.
 *
 * @example
 * family('purser_workers', [{ labels: {}, value: 4 }])
 */
export function family(name: MetricName, samples: readonly Sample[]): Family {
  const { type, help, ...rest } = catalogue[name]
  return { name, type, help, aggregate: 'aggregate' in rest ? rest.aggregate : 'sum', samples }
}

/** A metric of the catalogue with one series that has no labels. */
export function single(name: MetricName, value: number): Family {
  return family(name, [{ labels: {}, value }])
}

/** The same metrics in catalogue order; includes those without series. */
export function inOrder(families: readonly Family[]): Family[] {
  const byName = new Map(families.map((one) => [one.name, one]))
  return (Object.keys(catalogue) as MetricName[]).map((name) => byName.get(name) ?? family(name, []))
}
