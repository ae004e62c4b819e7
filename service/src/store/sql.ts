import type { Table } from './ledger/table.ts'

/** A connection for reads. */
export interface Reader extends Spelling {
  /** The rows of a statement. */
  readonly query: (text: string, values: readonly unknown[]) => Promise<unknown[]>
}

/** How a database writes statements. */
export interface Spelling {
  /** The parameter of a statement by its number, from 1: `$1` or `?`. */
  readonly parameter: (number: number) => string
  /** The 16 bytes of an id as a parameter. */
  readonly idParameter: (bytes: Buffer) => unknown
  /** The table, or the view, with all columns of a declared table. */
  readonly nameOf: (table: Table) => string
  /** What makes `lower` know all letters that the database knows, after the text. */
  readonly withLetters: string
}

/** Sends one statement that only reads; its rows. */
export type RunQuery = Reader['query']

/** Adds to the text of a statement, and to the values of its parameters. */
type Write = (to: Statement) => void

interface Statement {
  readonly spelling: Spelling
  text: string
  readonly values: unknown[]
}

/** A statement, or a part of one, with its parameters. */
export class Sql<Row = unknown> {
  readonly write: Write

  constructor(write: Write) {
    this.write = write
  }

  /** The text of the statement, and the values of its parameters. */
  render(spelling: Spelling): { readonly text: string; readonly values: readonly unknown[] } {
    const statement: Statement = { spelling, text: '', values: [] }
    this.write(statement)
    return statement
  }

  /** The rows that a database returns. */
  async execute(reader: Reader): Promise<{ rows: Row[] }> {
    const { text, values } = this.render(reader)
    return { rows: (await reader.query(text, values)) as Row[] }
  }
}

/** A statement from a template: a part of a statement is inserted as it is, any other value becomes a parameter. */
function tag<Row = unknown>(texts: TemplateStringsArray, ...values: readonly unknown[]): Sql<Row> {
  return new Sql((to) => {
    for (const [index, text] of texts.entries()) {
      if (index > 0) writeValue(to, values[index - 1])
      to.text += text
    }
  })
}

function writeValue(to: Statement, value: unknown): void {
  if (value instanceof Sql) return value.write(to)
  to.values.push(value)
  to.text += to.spelling.parameter(to.values.length)
}

const textOnly = (text: string): Sql =>
  new Sql((to) => {
    to.text += text
  })

const quoted = (name: string): Sql =>
  textOnly(
    name
      .split('.')
      .map((part) => `"${part.replaceAll('"', '""')}"`)
      .join('.'),
  )

export const sql = Object.assign(tag, {
  /** Text that is inserted as it is, and must not come from outside. */
  raw: textOnly,
  /** A column, possibly with its table: `p.amount`. */
  ref: quoted,
  table: quoted,
  /** A value as part of the text. */
  lit: (value: string | number | bigint): Sql =>
    textOnly(typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)),
  /** Whether all conditions hold; those that are not given are left out. */
  and: (...conditions: readonly (Sql | false | undefined)[]): Sql => {
    const given = conditions.filter((condition) => condition instanceof Sql)
    return given.length === 0 ? tag`1 = 1` : sql.join(given, textOnly(' and '))
  },
  join: (parts: readonly unknown[], separator: Sql = textOnly(', ')): Sql =>
    new Sql((to) => {
      for (const [index, part] of parts.entries()) {
        if (index > 0) separator.write(to)
        writeValue(to, part)
      }
    }),
})
