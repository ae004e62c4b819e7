/** Max connections that one process opens, by what they are for. */
export function connectionCounts(isSpread: boolean) {
  return {
    /** Two lanes, one for each of four rows that others have locked, and one to spare. */
    write: isSpread ? 16 : 7,
    read: 4,
    /** For going through the whole ledger. */
    audit: 1,
    /** For what the console asks. */
    console: 2,
  }
}
