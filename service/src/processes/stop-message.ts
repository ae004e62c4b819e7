/** The message of a service that is shutting down. */
export function stopMessage(drainSeconds: number): string {
  const first = drainSeconds === 0 ? '' : `it accepts requests for another ${drainSeconds} s, then `
  return `Purser is stopping: ${first}it finishes accepted requests.`
}
