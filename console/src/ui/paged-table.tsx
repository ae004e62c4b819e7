import { useState, type ReactNode } from 'react'

import type { ReadPages } from '../api/queries.ts'
import { counted } from '../text/counts.ts'
import { Button } from './button.tsx'
import { DataTable, type Column } from './data-table.tsx'
import { Failed, Waiting } from './waiting.tsx'

/** A paginated table with a "show more" button; `empty` is shown if it has no rows. */
export function PagedTable<Row>({
  query,
  empty,
  noun,
  arrange = (items) => items,
  ...table
}: {
  readonly query: ReadPages<Row>
  readonly empty: ReactNode
  readonly label: string
  /** The noun for a row, in the singular, for the count below the table. */
  readonly noun: string
  /** Maps items to rows, if they are not one to one. */
  readonly arrange?: ((items: readonly Row[]) => readonly Row[]) | undefined
  readonly columns: readonly Column<Row>[]
  readonly rowKey: (row: Row) => string
}) {
  const [isReadingOn, setReadingOn] = useState(false)
  if (query.isPending) return <Waiting lines={8} />
  const failed = query.isError && <Failed error={query.error} onRetry={() => void query.refetch()} />
  const read = query.data?.pages.flatMap(({ items }) => items) ?? []
  const rows = arrange(read)
  if (read.length === 0 && !query.hasNextPage)
    return failed || (query.isPlaceholderData ? <Waiting lines={8} /> : empty)
  // The rows of the filters before, until those of the new ones arrive.
  const isBefore = query.isPlaceholderData
  return (
    <div className={isBefore ? 'table-before' : undefined} aria-busy={isBefore}>
      <DataTable {...table} rows={rows} />
      {failed}
      <div className="table-more">
        <span className="quiet small" role="status">
          {isBefore ? 'Loading… These are the rows from before: ' : ''}
          {counted(read.length, noun)}
          {rows.length < read.length && ` in ${counted(rows.length, 'row')}`}
          {query.hasNextPage && ' so far'}
        </span>
        {query.hasNextPage && !failed && (
          <Button
            onClick={() => {
              setReadingOn(true)
              void readOn(query).finally(() => setReadingOn(false))
            }}
            disabled={isReadingOn}
          >
            {isReadingOn ? 'Loading…' : 'Show more'}
          </Button>
        )}
      </div>
    </div>
  )
}

/** Reads the next page. A refresh of the list cancels that, so it is requested again afterwards. */
async function readOn({ data, fetchNextPage }: ReadPages<unknown>): Promise<void> {
  const answer = await fetchNextPage()
  if (!answer.isError && answer.data?.pages.length === data?.pages.length) await fetchNextPage()
}
