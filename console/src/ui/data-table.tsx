import { useWindowVirtualizer } from '@tanstack/react-virtual'
import {
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
  type MouseEvent as ClickOf,
  type ReactNode,
} from 'react'

import './data-table.css'

export interface Column<Row> {
  /** The heading; on a phone, the label of the value. */
  readonly title: string
  readonly cell: (row: Row) => ReactNode
  /** The currency of its amounts, if the cells omit it. */
  readonly unit?: string
  /** Right-aligned figures. */
  readonly figures?: boolean
  /** The column with the row's name; on a phone, the card's title. */
  readonly isName?: boolean
  /** Takes the remaining width. */
  readonly isWide?: boolean
  /** Hidden on a phone. */
  readonly isMinor?: boolean
  /** Contains only buttons, so it has no heading. */
  readonly isActions?: boolean
}

/** Longer tables are virtualized. */
const virtualFrom = 150

/** Estimated row height in pixels, until measured. */
const estimatedPx = 56

/** A table. On a phone each row becomes a card; the roles keep it a table for screen readers. */
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
  const body = useRef<HTMLTableSectionElement>(null)
  const [top, setTop] = useState(0)
  const isPrinting = useSyncExternalStore(onPrintChange, isPrintingNow)
  const isVirtual = rows.length > virtualFrom && !isPrinting
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => estimatedPx,
    getItemKey: (index) => rowKey(rows[index] as Row),
    overscan: 15,
    scrollMargin: top,
    enabled: isVirtual,
  })
  // The content above the rows may change with every render.
  useLayoutEffect(() => {
    const measured = body.current ? body.current.getBoundingClientRect().top + scrollY : 0
    if (Math.abs(measured - top) > 1) setTop(measured)
  })
  const items = isVirtual ? virtualizer.getVirtualItems() : []
  const before = isVirtual ? (items[0]?.start ?? top) - top : 0
  const after = isVirtual ? virtualizer.getTotalSize() - ((items.at(-1)?.end ?? top) - top) : 0
  const shown = isVirtual ? items.map(({ index }) => index) : rows.map((_, index) => index)
  return (
    <div className="table-scroll">
      <table
        className="data-table"
        role="table"
        aria-label={label}
        aria-rowcount={isVirtual ? rows.length + 1 : undefined}
      >
        <thead role="rowgroup">
          <tr role="row" aria-rowindex={isVirtual ? 1 : undefined}>
            {columns.map((column) => (
              <th key={column.title} role="columnheader" scope="col" className={classOf(column)}>
                {column.isActions ? <span className="only-read-aloud">{column.title}</span> : titleOf(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" ref={body}>
          {before > 0 && <Spacer height={before} columns={columns.length} />}
          {shown.map((index) => {
            const row = rows[index] as Row
            return (
              <tr
                key={rowKey(row)}
                ref={isVirtual ? virtualizer.measureElement : undefined}
                data-index={index}
                role="row"
                aria-rowindex={isVirtual ? index + 2 : undefined}
                onClick={followName}
              >
                {columns.map((column) => (
                  <td key={column.title} role="cell" className={classOf(column)} data-title={titleOf(column)}>
                    <div>{column.cell(row)}</div>
                  </td>
                ))}
              </tr>
            )
          })}
          {after > 0 && <Spacer height={after} columns={columns.length} />}
        </tbody>
      </table>
    </div>
  )
}

/** A spacer for the rows that are not rendered. */
function Spacer({ height, columns }: { readonly height: number; readonly columns: number }) {
  return (
    <tr className="table-spacer" role="presentation" aria-hidden="true">
      <td role="presentation" colSpan={columns} style={{ height }} />
    </tr>
  )
}

/** Printing needs every row. */
let isPrinted = false
function onPrintChange(onChange: () => void): () => void {
  const media = matchMedia('print')
  const begin = () => {
    isPrinted = true
    onChange()
  }
  const end = () => {
    isPrinted = false
    onChange()
  }
  addEventListener('beforeprint', begin)
  addEventListener('afterprint', end)
  media.addEventListener('change', onChange)
  return () => {
    removeEventListener('beforeprint', begin)
    removeEventListener('afterprint', end)
    media.removeEventListener('change', onChange)
  }
}

function isPrintingNow(): boolean {
  return isPrinted || matchMedia('print').matches
}

/**
 * A click on a row follows the link of its name, with modifier keys. Clicks on interactive elements, in
 * popups, and after selecting text are ignored.
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
