import { maxItems } from '@purser/wire/lengths'

/** The largest request body. */
export const maxBodyBytes = 64 * 1024

/** Max faults that a 422 names. */
export const maxFaults = maxItems.faults

/** Max characters of an input that a 422 echoes; of an object or a list, of its JSON. */
export const maxEchoLength = 4_096

/** Max bytes of one page of a list, unless its first record alone has more. */
export const maxPageBytes = 512 * 1024

/** How long clients may take to send and to read, and how much is kept for them. */
export const connectionLimits = {
  arriveTimeoutMs: 30_000,
  checkIntervalMs: 500,
  maxConnections: 10_000,
  writeTimeoutMs: 30_000,
  minBytesInTime: 16 * 1024,
  oneAtATime: true,
  maxBuffered: 64 * 1024 * 1024,
  maxBufferedOfConnection: 4 * 1024 * 1024,
}

/** Far above what one process answers in a second: no honest client reaches them. */
export const defaultRateLimits = {
  key: { requests: 300_000, seconds: 10 },
  account: { requests: 600_000, seconds: 10 },
  address: { requests: 2_000, seconds: 40 },
}

/** How many lists and figures of one account are read at once by a process, and how many of its requests for them wait. */
export const readsOfAccount = { maxInProgress: 1, maxWaiting: 256 }

/** How long an idle connection is kept open for the next request. */
export const keepAliveTimeoutMs = 72_000

/** The longest path parameter that is looked at; ids are far shorter. */
export const maxParameterLength = 4_096

/** The longest `Idempotency-Key`. */
export const maxIdempotencyKeyLength = 255

/** Most exports that are streamed at once, in all and for one account. */
export const maxExports = 32
export const maxExportsOfAccount = 2

/** Most live feeds that a process keeps open, in all and for one account. */
export const maxFeeds = 200
export const maxFeedsOfAccount = 20

/** How often a live feed looks for what is new. */
export const feedIntervalMs = 500

/** How often a live feed shows that it is there. */
export const feedHeartbeatMs = 15_000

/** How often a live feed asks whether its reader is still let in. */
export const feedRecheckMs = 2_000

/** Max bytes of the transactions that one event of a live feed carries. */
export const maxFeedEventBytes = 256 * 1024

/** How much may wait for a reader of a live feed before it is cut off. */
export const maxFeedBacklogBytes = 512 * 1024

/** How often what happened is added up for the console, and what was counted in memory written down. */
export const activityIntervalMs = 500
export const talliesIntervalMs = 10_000

/** Max refusals of different kinds, and max keys in use, that are counted for one account between two writings. */
export const maxCountersOfAccount = 1_000

/** How long the store may take to say that it answers. */
export const readyTimeoutMs = 1_000

/** How long a stopping service waits for the requests that it has accepted. */
export const stopTimeoutMs = 10_000

/** How often expired holds are looked for. */
export const sweepIntervalMs = 1_000

/** How often stops are looked for that could not pause every mandate. */
export const stopIntervalMs = 1_000

/** How many mandates one look at expired holds covers. */
export const sweepMandates = 500

/** How often figures that cost a look at the whole ledger are read for metrics at most, and how long a scrape waits for them. */
export const ledgerFiguresIntervalMs = 15_000
export const ledgerFiguresPatienceMs = 1_000

/** How long a scrape waits for a worker; one that hangs is left out. */
export const workerMetricsTimeoutMs = 2_000
