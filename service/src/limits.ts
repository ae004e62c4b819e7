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

/** How long a stopping service waits for the requests that it has accepted. */
export const stopTimeoutMs = 10_000

/** How often expired holds are looked for. */
export const sweepIntervalMs = 1_000

/** How many mandates one look at expired holds covers. */
export const sweepMandates = 500
