/** How many holds were ended, as the data of the events of pauses say. */
export function voidedIn(pauses: readonly string[]): number {
  return pauses.reduce((sum, data) => sum + (JSON.parse(data) as { voided_holds: number }).voided_holds, 0)
}
