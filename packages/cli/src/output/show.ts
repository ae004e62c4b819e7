import type { Io } from '../io.ts'
import { harmlessJson } from './harmless.ts'
import { renderRecord, renderTable, type Column } from './table.ts'

type Place = Pick<Io, 'print' | 'columns' | 'hasColours'>

interface Format {
  readonly json?: true
}

/** Shows one record: one line per field, or the service's JSON. */
export function showRecord<Item>(
  columns: readonly Column<Item>[],
  item: Item,
  { json }: Format,
  place: Place,
): void {
  place.print(json ? harmlessJson(item, 2) : renderRecord(columns, item, place))
}

/** Shows a list: a table, or the service's JSON, or a message if it is empty. */
export function showList<Item>(
  columns: readonly Column<Item>[],
  items: readonly Item[],
  { json, none }: Format & { readonly none: string },
  place: Place & Pick<Io, 'printError'>,
): void {
  if (json) return place.print(harmlessJson(items, 2))
  // Standard output stays empty for scripts that count lines.
  if (items.length === 0) return place.printError(none)
  place.print(renderTable(columns, items, place))
}
