import type { QueryConfig } from 'pg'

import { storable } from './connection.ts'

/** A statement that is planned anew each time, with its values as PostgreSQL can hold them. */
export function query(text: string, values: readonly unknown[] = []): QueryConfig {
  return { text, values: values.map(storable) }
}

/** The rows of an answer; none where there is no answer. */
export function rowsOf<Row>(answer: { readonly rows: unknown[] } | undefined): Row[] {
  return (answer?.rows ?? []) as Row[]
}
