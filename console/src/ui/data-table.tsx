import type { MouseEvent as ClickOf, ReactNode } from 'react'

import './data-table.css'

export interface Column<Row> {
  /** The heading, and on a phone the name beside the value. */
  readonly title: string
  readonly cell: (row: Row) => ReactNode
  /** The currency of its amounts, where the cells do not say it. */
  readonly unit?: string
  /** Figures stand at the right edge. */
  readonly figures?: boolean
  /** The column that names the row; a phone shows it as the card's title. */
  readonly isName?: boolean
  /** Takes what room the others leave. */
  readonly isWide?: boolean
  /** Left away on a phone. */
  readonly isMinor?: boolean
  /** Only buttons: no heading is shown. */
  readonly isActions?: boolean
}

/** Rows of one kind. On a phone each row becomes a card; the roles keep it a table for screen readers. */
export function DataTable<Row>({
  label,
  columns,
  rows,
  rowKey,
}: {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
}) {
  return (
    <div className="table-scroll">
      <table className="data-table" role="table" aria-label={label}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th key={column.title} role="columnheader" scope="col" className={classOf(column)}>
                {column.isActions ? <span className="only-read-aloud">{column.title}</span> : titleOf(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={rowKey(row)} role="row" onClick={followName}>
              {columns.map((column) => (
                <td key={column.title} role="cell" className={classOf(column)} data-title={titleOf(column)}>
                  <div>{column.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/**
 * A click on a row follows the link of its name, with the keys that were held. What in a row can be clicked, what is opened
 * from it, and a text that was just selected keep the click to themselves.
 */
function followName({ target, currentTarget: row, ctrlKey, metaKey, shiftKey }: ClickOf<HTMLElement>): void {
  if (!(target instanceof Element) || !row.contains(target) || getSelection()?.isCollapsed === false) return
  if (target.closest('a, button, input, select, dialog, [role="menu"]')) return
  const click = new MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey })
  row.querySelector('td.name > div > a')?.dispatchEvent(click)
}

function titleOf({ title, unit }: Column<never>): string {
  return unit === undefined ? title : `${title} (${unit})`
}

function classOf({ figures, isName, isWide, isMinor, isActions }: Column<never>): string {
  const names = [
    figures && 'figures',
    isName && 'name',
    isWide && 'wide',
    isMinor && 'minor',
    isActions && 'actions',
  ]
  return names.filter((name) => name).join(' ')
}
