/**
 * A line of CSV (RFC 4180). Escapes formulas with a leading apostrophe, as spreadsheets do, so that text from
 * an agent never runs in its owner's spreadsheet.
 */
export function csvLine(values: readonly (string | number | null)[]): string {
  return `${values.map(field).join(',')}\r\n`
}

function field(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const safe = value.replaceAll(beforeFormula, "'")
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/**
 * Before the characters that start a formula, also full-width and after whitespace, which some spreadsheets skip; and also
 * after a semicolon, which separates cells where a comma separates decimals.
 */
const beforeFormula = /(?<=^|;)(?=\s*[=+\-@＝＋－＠])|^(?=[\t\r\n])/g
