import type { ExportTransactionsQuery } from '@purser/client'

/** The URL of the transactions as CSV, which the browser itself downloads as a stream. */
export function exportAddress(query: ExportTransactionsQuery): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return `/v1/console/transactions.csv?${new URLSearchParams(given).toString()}`
}
