// Open payments end as when a mandate is stopped: the mandate goes on in a new epoch.

/** How many payments are open. The table has the sums of the mandates. */
export function countOpen(table: string): string {
  return `select coalesce(sum(open_payments), 0) as open from ${table}`
}

/** Ends every open payment. */
export function endOpen(table: string): string {
  return `update ${table} set epoch = epoch + 1, held_micro = 0, open_payments = 0 where open_payments > 0`
}
