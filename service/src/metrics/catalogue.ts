import type { Aggregate, Family, Sample } from './families.ts'

/** All metrics. The table in docs/guides/operators.md explains each, and a test compares the two. */
export const catalogue = {
  http_server_request_duration_seconds: {
    type: 'histogram',
    help: 'Duration of HTTP requests, by method, route and status; 499 when the client was gone before the answer.',
  },
  purser_http_connections: { type: 'gauge', help: 'Open connections of clients.' },
  purser_verifications_total: { type: 'counter', help: 'Verifications of proofs, by result and reason.' },
  purser_proofs_total: { type: 'counter', help: 'Requests for proofs, by decision and reason.' },
  purser_evaluations_total: { type: 'counter', help: 'Evaluations, by decision and reason.' },
  purser_batch_operations: {
    type: 'histogram',
    help: 'Operations that one transaction of the store wrote together, by queue.',
  },
  purser_commit_duration_seconds: {
    type: 'histogram',
    help: 'Duration of transactions of the store until they were durable, by queue.',
  },
  purser_queue_wait_seconds: {
    type: 'histogram',
    help: 'How long the first operation of each batch waited until the batch began, by queue.',
  },
  purser_queue_depth: { type: 'gauge', help: 'Operations that wait for the store or are written, by queue.' },
  purser_queue_limit: { type: 'gauge', help: 'Operations that may wait, by queue; more are answered 503.' },
  purser_database_connection_wait_seconds: {
    type: 'histogram',
    help: 'How long a connection to the database was waited for, by pool.',
  },
  purser_database_connections: {
    type: 'gauge',
    help: 'Connections to the database, by pool and state: idle or used.',
  },
  purser_database_connections_limit: { type: 'gauge', help: 'Most connections to the database, by pool.' },
  purser_database_connection_waiters: {
    type: 'gauge',
    help: 'Who waits for a connection to the database now, by pool.',
  },
  purser_open_holds: {
    type: 'gauge',
    aggregate: 'max',
    help: 'Open proofs in the whole ledger, with those that have expired and are not released yet.',
  },
  purser_sweep_lag_seconds: {
    type: 'gauge',
    aggregate: 'max',
    help: 'How long ago the oldest open proof expired whose amount is not released yet; 0 when there is none.',
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
    help: 'How late a timer of 100 ms was, which is how long the event loop was busy.',
  },
  purser_build_info: {
    type: 'gauge',
    aggregate: 'max',
    help: 'Always 1; the labels have the version, the commit, the version of Node and the kind of store.',
  },
  purser_workers: { type: 'gauge', aggregate: 'max', help: 'Processes that should answer requests.' },
  purser_workers_scraped: {
    type: 'gauge',
    aggregate: 'max',
    help: 'Processes whose figures are in this answer; fewer than purser_workers when one hangs or starts.',
  },
  purser_worker_ends_total: { type: 'counter', help: 'Worker processes that ended and were replaced.' },
  process_cpu_seconds_total: { type: 'counter', help: 'CPU time of user and system.' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory.' },
  process_start_time_seconds: {
    type: 'gauge',
    aggregate: 'min',
    help: 'When the oldest process started, since 1970.',
  },
  process_open_fds: { type: 'gauge', help: 'Open file descriptors; Linux only.' },
  nodejs_heap_size_used_bytes: { type: 'gauge', help: 'Memory in use on the JavaScript heap.' },
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

/** The same metrics in the order of the catalogue; those without a series are there, too. */
export function inOrder(families: readonly Family[]): Family[] {
  const byName = new Map(families.map((one) => [one.name, one]))
  return (Object.keys(catalogue) as MetricName[]).map((name) => byName.get(name) ?? family(name, []))
}
