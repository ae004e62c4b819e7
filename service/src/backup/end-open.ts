// Open payments end like those of a stopped mandate: the mandate gets a new epoch. The table has the sums of the mandates.

export function countOpen(table: string): string {
  return `select coalesce(sum(open_payments), 0) as open from ${table}`
}

export function endOpen(table: string): string {
  return `update ${table} set epoch = epoch + 1, held_micro = 0, open_payments = 0 where open_payments > 0`
}
