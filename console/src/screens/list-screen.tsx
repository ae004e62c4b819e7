import type { ReactNode } from 'react'

import type { ReadPages } from '../api/queries.ts'
import { visibleText } from '../text/visible.ts'
import { Button } from '../ui/button.tsx'
import type { Column } from '../ui/data-table.tsx'
import { Icon } from '../ui/icon.tsx'
import { EmptyState } from '../ui/notice.tsx'
import { PagedTable } from '../ui/paged-table.tsx'
import { Panel } from '../ui/panel.tsx'
import type { Chip } from './filters.ts'
import { Screen } from './screen.tsx'

interface Filters {
  readonly fields: ReactNode
  /** The active filters. */
  readonly chips: readonly Chip[]
  /** An error in a filter from the URL; then nothing is requested. */
  readonly fault?: string | undefined
  readonly remove: (names: readonly string[]) => void
}

/** A list screen: filters, rows, and an empty state. */
export function ListScreen<Row extends { readonly id: string }>({
  title,
  lead,
  actions,
  filters,
  noun,
  query,
  columns,
  arrange,
  empty,
  children,
}: {
  readonly title: string
  readonly lead: string
  readonly actions?: ReactNode
  readonly filters?: Filters
  /** The noun for a row, in the singular: `mandate`. */
  readonly noun: string
  readonly query: ReadPages<Row>
  readonly columns: readonly Column<Row>[]
  readonly arrange?: (items: readonly Row[]) => readonly Row[]
  /** The empty state. */
  readonly empty: ReactNode
  /** Dialogs of the screen. */
  readonly children?: ReactNode
}) {
  const noMatch = (
    <EmptyState icon="search" title={`No ${noun}s match your filters`}>
      Remove a filter to see more.
    </EmptyState>
  )
  return (
    <Screen title={title} lead={lead} actions={actions}>
      {filters && <FilterForm {...filters} />}
      <Panel title={`All ${title.toLowerCase()}`} flush isTitleHidden>
        {filters?.fault ? (
          <EmptyState icon="search" title="This filter does not work">
            {visibleText(filters.fault)}
          </EmptyState>
        ) : (
          <PagedTable
            label={title}
            noun={noun}
            query={query}
            columns={columns}
            arrange={arrange}
            rowKey={({ id }) => id}
            empty={filters && filters.chips.length > 0 ? noMatch : empty}
          />
        )}
      </Panel>
      {children}
    </Screen>
  )
}

function FilterForm({ fields, chips, remove }: Filters) {
  return (
    <div className="stack-tight filter-area">
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        {fields}
      </form>
      {chips.length > 0 && (
        <ul className="row chips" aria-label="Active filters">
          {chips.map(({ label, value, names }) => (
            <li key={label} className="chip">
              <span className="chip-text">
                <span className="quiet">{label}:</span> <bdi>{visibleText(value)}</bdi>
              </span>
              <button
                type="button"
                className="chip-remove"
                aria-label={`Remove the filter ${visibleText(value)}`}
                title="Remove"
                onClick={() => remove(names)}
              >
                <Icon name="close" size={14} />
              </button>
            </li>
          ))}
          {chips.length > 1 && (
            <li>
              <Button look="bare" onClick={() => remove(chips.flatMap(({ names }) => names))}>
                Clear all filters
              </Button>
            </li>
          )}
        </ul>
      )}
    </div>
  )
}
