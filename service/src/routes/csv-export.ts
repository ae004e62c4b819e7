import { Readable } from 'node:stream'

import type { Caller } from '../domain/records.ts'
import { refuse, type Answer } from '../http/answers.ts'
import { csvLine } from '../http/csv.ts'
import type { Call } from '../http/serve.ts'
import type { createStreamSlots } from '../http/stream-slots.ts'
import type { Page, PageOf } from '../store/store.ts'
import { toTimestamp } from './context.ts'

/** The contents and the reader of an export. */
export interface CsvExport<Column extends string> extends Pick<
  Call<never, never, never>,
  'isStillLetIn' | 'takeTurn'
> {
  /** The file is named after it; default `transactions`. */
  readonly name?: string
  readonly caller: Caller
  readonly columns: readonly Column[]
  readonly readPage: (page: Page) => Promise<PageOf<Readonly<Record<Column, Cell>>>>
}

/** A map, such as `metadata`, is written as JSON. */
type Cell = string | number | null | Readonly<Record<string, string>>

export type AnswerExport = <Column extends string>(csv: CsvExport<Column>) => Answer

/** Streams CSV page by page, or refuses if too many exports are running. */
export function createExports(slots: ReturnType<typeof createStreamSlots>, now: () => number): AnswerExport {
  return (csv) => {
    const { accountId, environment } = csv.caller
    const stream = Readable.from(csvLines(csv), { objectMode: false })
    if (!slots.take(accountId, stream)) {
      stream.destroy()
      return refuse('too_many_streams')
    }
    const name = `${csv.name ?? 'transactions'}-${environment}-${toTimestamp(now()).slice(0, 10)}.csv`
    return {
      status: 200,
      body: undefined,
      stream,
      headers: {
        'content-type': 'text/csv; charset=utf-8; header=present',
        'content-disposition': `attachment; filename="${name}"`,
      },
    }
  }
}

/** Page size of an export: small, so that it never blocks the process for long. */
const exportedAtOnce = 50

/**
 * The lines of an export; each page is read when the previous one has been sent. If a slow reader's
 * authentication ends in the meantime, the export is aborted.
 */
async function* csvLines<Column extends string>({
  columns,
  readPage,
  isStillLetIn,
  takeTurn,
}: CsvExport<Column>): AsyncGenerator<string> {
  yield csvLine(columns)
  let olderThan: string | undefined
  do {
    const page: Page = { limit: exportedAtOnce, olderThan }
    const { lines, next } = await takeTurn(async () => {
      // Checked in its turn, for which it may have waited long.
      if (!(await isStillLetIn())) throw new Error('the reader of the export is no longer authenticated')
      const read = await readPage(page)
      const text = read.items.map((item) => csvLine(columns.map((column) => textOf(item[column])))).join('')
      return { lines: text, next: read.next }
    })
    if (lines !== '') yield lines
    olderThan = next
  } while (olderThan !== undefined)
}

function textOf(cell: Cell): string | number | null {
  if (typeof cell !== 'object' || cell === null) return cell
  return Object.keys(cell).length === 0 ? '' : JSON.stringify(cell)
}
