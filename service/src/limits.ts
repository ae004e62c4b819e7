/** The largest request body. */
export const maxBodyBytes = 64 * 1024

/** How long a request may take to arrive whole. */
export const requestTimeoutMs = 30_000

/** How long an idle connection is kept open for the next request. */
export const keepAliveTimeoutMs = 72_000

/** The longest path parameter that is looked at; ids are far shorter. */
export const maxParameterLength = 4_096

/** The longest `Idempotency-Key`. */
export const maxIdempotencyKeyLength = 255

/** Most exports that are streamed at once, in all and for one account. */
export const maxExports = 8
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

/** How much may wait for a reader of a live feed before it is cut off. */
export const maxFeedBacklogBytes = 512 * 1024

/** How often what happened is added up for the console, and what was counted in memory written down. */
export const activityIntervalMs = 500
export const talliesIntervalMs = 10_000

/** How long the store may take to say that it answers. */
export const readyTimeoutMs = 1_000

/** How long a stopping service waits for the requests that it has accepted. */
export const stopTimeoutMs = 10_000

/** How often expired holds are looked for. */
export const sweepIntervalMs = 1_000

/** How many mandates one look at expired holds covers. */
export const sweepMandates = 500
