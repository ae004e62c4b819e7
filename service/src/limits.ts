import { maxItems } from '@purser/wire/lengths'

/** The largest request body. */
export const maxBodyBytes = 64 * 1024

/** Max errors in a 422. */
export const maxErrors = maxItems.faults

/** Max characters of an input echoed in a 422; for an object or a list, of its JSON. */
export const maxEchoLength = 4_096

/** Max bytes of one page of a list, unless its first record alone has more. */
export const maxPageBytes = 512 * 1024

/** Time limits for clients to send and read, and limits for their buffers. */
export const connectionLimits = {
  arriveTimeoutMs: 30_000,
  checkIntervalMs: 500,
  maxConnections: 10_000,
  writeTimeoutMs: 30_000,
  minBytesInTime: 16 * 1024,
  oneAtATime: true,
  maxWaiting: 8_192,
  maxWaitingOfConnection: 512,
  maxBuffered: 64 * 1024 * 1024,
  maxBufferedOfConnection: 4 * 1024 * 1024,
}

/** Far above what one process can answer per second: no honest client reaches them. */
export const defaultRateLimits = {
  key: { requests: 300_000, seconds: 10 },
  account: { requests: 600_000, seconds: 10 },
  address: { requests: 2_000, seconds: 40 },
}

/** Max concurrent list and figure reads of one account per process, and max waiting requests. */
export const readsOfAccount = { maxInProgress: 1, maxWaiting: 256 }

/**
 * Max concurrent changes of limits of one account per process, and max waiting ones. A change that takes long, because an
 * added limit counts many payments, is followed by a pause that leaves the time to other accounts.
 */
export const limitChangesOfAccount = {
  maxInProgress: 1,
  maxWaiting: 16,
  pauseMs: (tookMs: number) => (tookMs < 100 ? 0 : Math.min(9 * tookMs, 10_000)),
}

/** How long an idle connection is kept open for the next request. */
export const keepAliveTimeoutMs = 72_000

/** Max length of a path parameter; ids are far shorter. */
export const maxParameterLength = 4_096

/** Max length of an `Idempotency-Key`. */
export const maxIdempotencyKeyLength = 255

/** Max concurrent exports, in total and per account. */
export const maxExports = 32
export const maxExportsOfAccount = 2

/** Max open live feeds of a process, in total and per account. */
export const maxFeeds = 200
export const maxFeedsOfAccount = 20

/** How often a live feed polls for new transactions. */
export const feedIntervalMs = 500

/** How often a live feed sends a heartbeat. */
export const feedHeartbeatMs = 15_000

/** How often a live feed rechecks its reader's authentication. */
export const feedRecheckMs = 2_000

/** Max bytes of transactions in one event of a live feed. */
export const maxFeedEventBytes = 256 * 1024

/** Max bytes buffered for a reader of a live feed before it is disconnected. */
export const maxFeedBacklogBytes = 512 * 1024

/** How often the service checks whether many payments wait for the console's sums. Reads include those that wait. */
export const activityIntervalMs = 500

/** Every so many checks, any number of payments is added to the sums. */
export const activityChecks = 10

/** Payments whose sums are at least this long, as JSON, are added at the next check. */
export const manyPaymentsLength = 1024 * 1024

/** How often in-memory counters are saved. */
export const talliesIntervalMs = 10_000

/** Max kinds of refusals, and max used keys, counted for one account between two saves. */
export const maxCountersOfAccount = 1_000

/** Timeout for the readiness check of the store. */
export const readyTimeoutMs = 1_000

/** How long a stopping service waits for accepted requests. */
export const stopTimeoutMs = 10_000

/** How long a drained service takes at most to close its port at a quiet moment. */
export const closePortTimeoutMs = 9_000

/** Interval of the sweep of expired holds. */
export const sweepIntervalMs = 1_000

/** Interval between attempts to complete stops that could not pause every mandate. */
export const stopIntervalMs = 1_000

/** Number of mandates per step of the sweep. */
export const sweepMandates = 500

/**
 * Min interval between reads of expensive ledger figures for metrics, and how long a scrape waits for them.
 */
export const ledgerFiguresIntervalMs = 15_000
export const ledgerFiguresPatienceMs = 1_000

/** How long a scrape waits for a worker; of a hung one, only the last counters are included. */
export const workerMetricsTimeoutMs = 2_000
