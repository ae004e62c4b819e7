import type { ReactNode } from 'react'

import type { ReadPages } from '../api/queries.ts'
import { Button } from './button.tsx'
import { DataTable, type Column } from './data-table.tsx'
import { Failed, Waiting } from './waiting.tsx'

/** A list as a table that grows at its end; `empty` stands in its place when it has nothing. */
export function PagedTable<Row>({
  query,
  empty,
  ...table
}: {
  readonly query: ReadPages<Row>
  readonly empty: ReactNode
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rowKey: (row: Row) => string
}) {
  if (query.isPending) return <Waiting lines={8} />
  const failed = query.isError && <Failed error={query.error} onRetry={() => void query.refetch()} />
  const rows = query.data?.pages.flatMap(({ items }) => items) ?? []
  if (rows.length === 0 && !query.hasNextPage) return failed || empty
  return (
    <>
      <DataTable {...table} rows={rows} />
      {failed}
      {query.hasNextPage && !failed && (
        <div className="table-more">
          <Button onClick={() => void query.fetchNextPage()} disabled={query.isFetchingNextPage}>
            {query.isFetchingNextPage ? 'Loading…' : 'Show more'}
          </Button>
        </div>
      )}
    </>
  )
}
