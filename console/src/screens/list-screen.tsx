import type { ReactNode } from 'react'

import type { ReadPages } from '../api/queries.ts'
import { Button } from '../ui/button.tsx'
import type { Column } from '../ui/data-table.tsx'
import { EmptyState } from '../ui/notice.tsx'
import { PagedTable } from '../ui/paged-table.tsx'
import { Panel } from '../ui/panel.tsx'
import { Screen } from './screen.tsx'

interface Filters {
  readonly fields: ReactNode
  readonly isFiltered: boolean
  /** Removes them all. */
  readonly clear: () => void
}

/** A screen that is one list: its filters, its rows, and what stands there while it has none. */
export function ListScreen<Row extends { readonly id: string }>({
  title,
  lead,
  actions,
  filters,
  noun,
  query,
  columns,
  empty,
  children,
}: {
  readonly title: string
  readonly lead: string
  readonly actions?: ReactNode
  readonly filters?: Filters
  /** What a row is: `No mandate fits`. */
  readonly noun: string
  readonly query: ReadPages<Row>
  readonly columns: readonly Column<Row>[]
  /** What belongs here, and how it comes about. */
  readonly empty: ReactNode
  /** Dialogs of the screen. */
  readonly children?: ReactNode
}) {
  const nothingFits = (
    <EmptyState icon="search" title={`No ${noun} fits`}>
      Nothing matches these filters.
    </EmptyState>
  )
  return (
    <Screen title={title} lead={lead} actions={actions}>
      {filters && <FilterForm {...filters} />}
      <Panel title={`All ${title.toLowerCase()}`} flush isTitleHidden>
        <PagedTable
          label={title}
          query={query}
          columns={columns}
          rowKey={({ id }) => id}
          empty={filters?.isFiltered ? nothingFits : empty}
        />
      </Panel>
      {children}
    </Screen>
  )
}

function FilterForm({ fields, isFiltered, clear }: Filters) {
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {fields}
      {isFiltered && (
        <Button look="bare" icon="close" onClick={clear}>
          Clear filters
        </Button>
      )}
    </form>
  )
}
