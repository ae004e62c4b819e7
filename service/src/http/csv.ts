/**
 * A line of CSV (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe in front, as
 * spreadsheets themselves write it: what an agent names must not run in its owner's sheet.
 */
export function csvLine(values: readonly (string | null)[]): string {
  return `${values.map(field).join(',')}\r\n`
}

function field(value: string | null): string {
  if (value === null) return ''
  const safe = startsFormula.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** The signs that begin one, also in their wide forms and after white space, which some spreadsheets pass over. */
const startsFormula = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/
