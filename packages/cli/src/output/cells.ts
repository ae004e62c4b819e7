import type { Cell, Colour } from './table.ts'

const statusColours: Readonly<Record<string, Colour>> = {
  active: 'green',
  approved: 'green',
  paid: 'green',
  pending: 'yellow',
  paused: 'yellow',
  expired: 'yellow',
  denied: 'red',
  disabled: 'red',
  revoked: 'red',
}

/** A status in its colour; the word says it all, so that nothing is lost without colours. */
export function statusCell(status: string): Cell {
  return { text: status, colour: statusColours[status] }
}

/** A time to the second, in UTC, whatever zone it came in; the title of its column says so. */
export function timeCell(time: string): string {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
}

/** What may be missing, as a dash. */
export function optionalCell(text: string | null | undefined): string {
  return text === null || text === undefined || text === '' ? '-' : text
}

/** Words of a list; a dash where it is empty. */
export function listCell(words: readonly string[]): string {
  return optionalCell(words.join(', '))
}
