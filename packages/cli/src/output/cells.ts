import type { Cell, Colour } from './table.ts'

const statusColours: Readonly<Record<string, Colour>> = {
  active: 'green',
  approved: 'green',
  paid: 'green',
  pending: 'yellow',
  paused: 'yellow',
  expired: 'yellow',
  consumed: 'green',
  refunded: 'yellow',
  authorized: 'yellow',
  denied: 'red',
  disabled: 'red',
  revoked: 'red',
}

/** A colored status; the text is complete without the color. */
export function statusCell(status: string): Cell {
  return { text: status, colour: statusColours[status] }
}

/** A time in UTC, to the second; the column title says so. A dash for null. */
export function timeCell(time: string | null): string {
  if (time === null) return '-'
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
}

/** An amount with at least two decimals, like the sums of the service. */
export function amountCell(amount: string): string {
  const [whole = '', decimals = ''] = amount.split('.')
  return `${whole}.${decimals.padEnd(2, '0')}`
}

/** A dash if the value is missing. */
export function optionalCell(text: string | null | undefined): string {
  return text === null || text === undefined || text === '' ? '-' : text
}

/** The entries of `metadata`; a dash if there are none. */
export function metadataCell(metadata: Readonly<Record<string, string>>): string {
  return listCell(Object.entries(metadata).map(([name, text]) => `${name}=${text}`))
}

/** The items of a list; a dash if it is empty. */
export function listCell(words: readonly string[]): string {
  return optionalCell(words.join(', '))
}
