import type { Row } from './table.ts'

// These functions are compiled for the columns of one table, with a name for each access. In a loop over the columns of any
// table, V8 would search every row for every name; and a row of more than twelve columns that is built in a loop becomes a
// hash table, which takes ten times as long to copy.

/** Builds a row from consecutive values, starting at a position. */
export type DecodeRow<Value> = (values: readonly Value[], start: number) => Row

/** A missing value is null. */
export function compileDecodeRow<Value>(
  columns: readonly { readonly name: string; readonly decode: (value: NonNullable<Value>) => unknown }[],
): DecodeRow<Value> {
  const values = columns.map((_, index) => `values[start + ${index}]`)
  return compileDecode(columns, '(values, start)', values) as DecodeRow<Value>
}

/** Builds a row from a record whose values have other names. A missing value is null. */
export function compileDecodeRecord(
  columns: readonly {
    readonly name: string
    readonly source: string
    readonly decode: (value: unknown) => unknown
  }[],
): (record: Row) => Row {
  const values = columns.map(({ source }) => `record.${check(source)}`)
  return compileDecode(columns, '(record)', values) as (record: Row) => Row
}

function compileDecode(
  columns: readonly { readonly name: string; readonly decode: unknown }[],
  parameters: string,
  values: readonly string[],
): unknown {
  const fields = columns.map(
    ({ name }, index) =>
      `${check(name)}: (value = ${values[index]} ?? null) === null ? null : f${index}(value)`,
  )
  return compile(
    columns.map(({ decode }) => decode),
    `${parameters} => {
      let value
      return { ${fields.join(', ')} }
    }`,
  )
}

/**
 * In which columns two rows differ, as a bit mask: 1 for the first, 2 for the second, 4 for the third, and so on. Adds the new
 * values of these columns to a list.
 */
export type TakeChanged<Value> = (from: Row, to: Row, values: Value[]) => number

/** A missing value is null. */
export function compileTakeChanged<Value>(
  columns: readonly { readonly name: string; readonly encode: (value: unknown) => Value }[],
): TakeChanged<Value | null> {
  const comparisons = columns.map(
    ({ name }, index) => `
      value = to.${check(name)} ?? null
      if (value !== (from.${name} ?? null)) {
        mask += ${2 ** index}
        values.push(value === null ? null : f${index}(value))
      }`,
  )
  return compile(
    columns.map(({ encode }) => encode),
    `(from, to, values) => {
      let mask = 0, value
      ${comparisons.join('')}
      return mask
    }`,
  ) as TakeChanged<Value | null>
}

/** The names of the columns in some bit masks. */
export function columnsIn(masks: ReadonlySet<number>, names: readonly string[]): string[] {
  return names.filter((_, index) => [...masks].some((mask) => Math.floor(mask / 2 ** index) % 2 === 1))
}

function check(name: string): string {
  if (!/^[a-z]\w*$/i.test(name)) throw new TypeError(`${name} is not the name of a column`)
  return name
}

/** A function that calls others as `f0`, `f1` and so on. */
function compile(others: readonly unknown[], text: string): unknown {
  // eslint-disable-next-line typescript/no-implied-eval -- the text consists of checked names of columns
  const make = new Function(...others.map((_, index) => `f${index}`), `return ${text}`)
  return make(...others)
}
