/** What a service says that was told to stop. */
export function stopMessage(drainSeconds: number): string {
  const first = drainSeconds === 0 ? '' : `it takes requests for ${drainSeconds} s more, then `
  return `Purser is stopping: ${first}it finishes what it accepted.`
}
