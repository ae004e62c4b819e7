import type { QueryConfig } from 'pg'

import { insertOf, type NewRow } from '../new-rows.ts'
import { storable } from '../ledger/postgres/connection.ts'

/** A statement that is planned anew each time, with its values as PostgreSQL can hold them. */
export function query(text: string, values: readonly unknown[] = []): QueryConfig {
  return { text, values: values.map(storable) }
}

/** Writes a new record. */
export function insertRow<Record>(row: NewRow<Record>, record: Record): QueryConfig {
  return query(
    insertOf(row, (place) => `$${place}`),
    row.valuesOf(record),
  )
}

/** The rows of an answer; none where there is no answer. */
export function rowsOf<Row>(answer: { readonly rows: unknown[] } | undefined): Row[] {
  return (answer?.rows ?? []) as Row[]
}
