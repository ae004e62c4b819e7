import type { Duplex } from 'node:stream'

import { types, type Connection, type Pool, type PoolClient, type QueryConfig, type Submittable } from 'pg'

import { breaksConnection } from './errors.ts'

/**
 * A statement, optionally with a row format. By default each row of an unnamed statement is an object with a property per
 * column, and the rows of a named one are dropped.
 */
export interface Statement extends QueryConfig {
  readonly decodeRow?: (fields: readonly (string | null)[]) => unknown
}

/** The result of a statement. */
export interface Answer {
  readonly command: string
  readonly rows: unknown[]
}

/**
 * Sends statements in one packet, and waits once for all results. After the first error the server skips the rest,
 * and the error is thrown. A transaction begun by them is then still open, and must be rolled back.
 */
export function roundTrip(client: PoolClient, statements: readonly Statement[]): Promise<Answer[]> {
  return new Promise((resolve, reject) => {
    const trip = new RoundTrip(statements, (error, answers) => {
      if (error === null) resolve(answers)
      else reject(error)
    })
    client.query(trip)
  })
}

/** Whether a transaction was rolled back, so that its connection can be used again. */
export function rollBack(client: PoolClient): Promise<boolean> {
  return roundTrip(client, [{ text: 'rollback' }]).then(
    () => true,
    () => false,
  )
}

/**
 * Sends statements in one round trip over a connection of a pool. Discards a broken connection, and one whose
 * transaction stays open after an error.
 */
export async function askOnce(pool: Pool, statements: readonly Statement[]): Promise<Answer[]> {
  const client = await pool.connect()
  let isBroken = false
  try {
    return await roundTrip(client, statements)
  } catch (error) {
    isBroken = breaksConnection(error) || !(await rollBack(client))
    throw error
  } finally {
    client.release(isBroken)
  }
}

/**
 * The statements as a single `pg` query. As separate queries, the server would answer each in its own packet, and
 * describe its rows every time.
 */
class RoundTrip implements Submittable {
  /** A client with a time limit wraps this one. */
  callback: (error: unknown, answers: Answer[]) => void
  readonly #statements: readonly Statement[]
  readonly #answers: Answer[] = []
  #columns: readonly Column[] | undefined
  #rows: unknown[] = []

  constructor(statements: readonly Statement[], callback: (error: unknown, answers: Answer[]) => void) {
    this.#statements = statements
    this.callback = callback
  }

  /** The statement that is being answered; `pg` records under its name that the server has prepared it. */
  get name(): string | undefined {
    return this.#statements[this.#answers.length]?.name
  }

  get text(): string | undefined {
    return this.#statements[this.#answers.length]?.text
  }

  submit(connection: Connection): void {
    const wire = connection as unknown as Wire
    const sent = new Set<string>()
    wire.stream.cork()
    for (const { name = '', text, values = [], decodeRow } of this.#statements) {
      const isSent = sent.has(name)
      if (!isSent && !(name in wire.parsedStatements)) wire.parse({ name, text })
      wire.bind({ statement: name, values: values.map(toWire) })
      if (name === '' && !decodeRow) wire.describe({ type: 'P' })
      wire.execute()
      if (name !== '') sent.add(name)
    }
    wire.sync()
    wire.stream.uncork()
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, read: types.getTypeParser(dataTypeID) }))
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const decodeRow = this.#statements[this.#answers.length]?.decodeRow
    if (decodeRow) return void this.#rows.push(decodeRow(fields))
    if (!this.#columns) return
    const row: Record<string, unknown> = {}
    let place = 0
    for (const { name, read } of this.#columns) {
      const text = fields[place++] ?? null
      row[name] = text === null ? null : read(text)
    }
    this.#rows.push(row)
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#answers.push({ command: text.split(' ', 1)[0]!, rows: this.#rows })
    this.#columns = undefined
    this.#rows = []
  }

  handleError(error: unknown): void {
    this.callback(error, this.#answers)
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#answers)
  }
}

interface Column {
  readonly name: string
  readonly read: (text: string) => unknown
}

interface Field {
  readonly name: string
  readonly dataTypeID: number
}

/** Untyped `pg` internals that we use. */
interface Wire {
  readonly stream: Duplex
  readonly parsedStatements: Readonly<Record<string, string>>
  readonly parse: (statement: { readonly name: string; readonly text: string }) => void
  readonly bind: (portal: {
    readonly statement: string
    readonly values: readonly (string | Buffer | null)[]
  }) => void
  readonly describe: (what: { readonly type: 'P' }) => void
  readonly execute: () => void
  readonly sync: () => void
}

function toWire(
  value: Buffer | string | number | bigint | boolean | null | undefined,
): string | Buffer | null {
  if (value === null || value === undefined) return null
  return Buffer.isBuffer(value) ? value : String(value)
}
