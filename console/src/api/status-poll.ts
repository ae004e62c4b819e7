/** How often the console asks whether the service is there. */
export const statusPollMs = 2_000

/** How long it waits for the answer. An outage is noticed after the sum of both at the latest. */
export const statusTimeoutMs = 2_000
