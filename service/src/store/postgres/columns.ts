/** The texts as a PostgreSQL array; written here because pg's own writer is slow for many short texts. */
export function textArray(values: readonly (string | null)[]): string {
  let text = '{'
  for (const value of values) {
    if (text.length > 1) text += ','
    if (value === null) text += 'NULL'
    else text += needsCare.test(value) ? `"${escape(value)}"` : `"${value}"`
  }
  return `${text}}`
}

/** Whole numbers as a PostgreSQL array. */
export function intArray(values: readonly (number | bigint | string | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`
}

const needsCare = /["\\\0]/

function escape(value: string): string {
  return value.replace(/["\\]/g, '\\$&').replaceAll('\0', '\uFFFD')
}
