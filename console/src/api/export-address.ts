import type { ExportTransactionsQuery } from '@purser/client'

/** The address of the transactions as CSV: the browser itself fetches it, and writes it to disk as it comes. */
export function exportAddress(query: ExportTransactionsQuery): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return `/v1/console/transactions.csv?${new URLSearchParams(given).toString()}`
}
