/** Max connections of one process, by purpose. */
export function connectionCounts(isDistributed: boolean) {
  return {
    /** Two lanes, one for each of four rows locked by others, and a spare. */
    write: isDistributed ? 16 : 7,
    read: 4,
    /** For scans of the whole ledger. */
    audit: 1,
    /** For the console's queries. */
    console: 2,
  }
}
