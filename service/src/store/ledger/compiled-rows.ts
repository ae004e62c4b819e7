import type { Row } from './table.ts'

// These functions are compiled for the columns of one table, with a name for each access. In a loop over the columns of any
// table, V8 would search every row for every name; and a row of more than twelve columns that is built in a loop becomes a
// hash table, which takes ten times as long to copy.

/** Builds a row from consecutive values, starting at a position, and from the columns that are already known. */
export type DecodeRow<Value> = (values: readonly Value[], start: number, known?: Row) => Row

/** A missing value is null. */
export function compileDecodeRow<Value>(
  columns: readonly { readonly name: string; readonly decode: (value: NonNullable<Value>) => unknown }[],
  knownColumns: readonly string[] = [],
): DecodeRow<Value> {
  let place = 0
  const fields = columns.map(({ name }, index) =>
    knownColumns.includes(name)
      ? `${check(name)}: known.${name}`
      : `${check(name)}: (value = values[start + ${place++}] ?? null) === null ? null : f${index}(value)`,
  )
  return compile(
    columns.map(({ decode }) => decode),
    `(values, start, known) => {
      let value
      return { ${fields.join(', ')} }
    }`,
  ) as DecodeRow<Value>
}

/** Builds a row from a record whose values have other names. A missing value is null. */
export function compileDecodeRecord(
  columns: readonly {
    readonly name: string
    readonly source: string
    readonly decode: (value: unknown) => unknown
  }[],
): (record: Row) => Row {
  const fields = columns.map(
    ({ name, source }, index) =>
      `${check(name)}: (value = record.${check(source)} ?? null) === null ? null : f${index}(value)`,
  )
  return compile(
    columns.map(({ decode }) => decode),
    `(record) => {
      let value
      return { ${fields.join(', ')} }
    }`,
  ) as (record: Row) => Row
}

/** In which columns two rows differ, as a bit mask: 1 for the first, 2 for the second, 4 for the third, and so on. */
export type ChangedColumns = (from: Row, to: Row) => number

/** A missing value is null. */
export function compileChangedColumns(names: readonly string[]): ChangedColumns {
  const comparisons = names.map(
    (name, index) => `((to.${check(name)} ?? null) !== (from.${name} ?? null) ? ${2 ** index} : 0)`,
  )
  return compile([], `(from, to) => ${comparisons.join(' + ')}`) as ChangedColumns
}

/** The names of the columns in some bit masks. */
export function columnsIn(masks: ReadonlySet<number>, names: readonly string[]): string[] {
  return names.filter((_, index) => [...masks].some((mask) => Math.floor(mask / 2 ** index) % 2 === 1))
}

/** Returns the same mask, and adds the new values of these columns to a list. */
export type TakeChanged<Value> = (from: Row, to: Row, values: Value[]) => number

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
