/** Polling interval of the service's status. */
export const statusPollMs = 2_000

/** Timeout of a poll. An outage is noticed after at most the sum of both. */
export const statusTimeoutMs = 2_000
