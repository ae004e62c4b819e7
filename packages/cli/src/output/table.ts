import { styleText } from 'node:util'

import stringWidth from 'string-width'

import { harmless } from './harmless.ts'

export type Colour = 'green' | 'yellow' | 'red' | 'dim'

/** What stands in one place of a table: text of whatever origin, made harmless when it is shown. */
export type Cell = string | { readonly text: string; readonly colour: Colour | undefined }

export interface Column<Item> {
  readonly title: string
  readonly cell: (item: Item) => Cell
  /** Amounts and counts end in one line. */
  readonly align?: 'right'
  /** Free text, which may be cut short where the terminal is narrow. Ids and amounts never are. */
  readonly canShrink?: true
}

/** Where a table is shown. */
export interface Paper {
  readonly columns: number
  readonly hasColours: boolean
}

/** The least that is left of a text that is cut short. */
const leastWidth = 10
const gap = '  '

/**
 * The items as a table with a line each; where the terminal is too narrow even with free text cut short,
 * one block for each item.
 */
export function renderTable<Item>(
  columns: readonly Column<Item>[],
  items: readonly Item[],
  paper: Paper,
): string {
  const rows = items.map((item) => columns.map((column) => toText(column.cell(item))))
  const widths = fit(columns, rows, paper.columns)
  if (!widths) return items.map((item) => renderRecord(columns, item, paper)).join('\n\n')
  const title = columns.map(({ title }) => ({ text: title.toUpperCase(), colour: 'dim' as const }))
  return [title, ...rows].map((row) => renderRow(columns, row, widths, paper)).join('\n')
}

/** One item with a line for each of its fields. */
export function renderRecord<Item>(columns: readonly Column<Item>[], item: Item, paper: Paper): string {
  const width = Math.max(...columns.map(({ title }) => stringWidth(title)))
  return columns
    .map(({ title, cell }) => `${pad(title, width)}${gap}${coloured(toText(cell(item)), paper)}`.trimEnd())
    .join('\n')
}

interface Text {
  readonly text: string
  readonly colour: Colour | undefined
}

function toText(cell: Cell): Text {
  if (typeof cell === 'string') return { text: harmless(cell), colour: undefined }
  return { text: harmless(cell.text), colour: cell.colour }
}

/** The widths of the columns, within the width of the terminal; undefined when they do not fit. */
function fit<Item>(
  columns: readonly Column<Item>[],
  rows: readonly (readonly Text[])[],
  available: number,
): number[] | undefined {
  const widths = columns.map(({ title }, index) =>
    Math.max(stringWidth(title), ...rows.map((row) => stringWidth(row[index]?.text ?? ''))),
  )
  const total = () => widths.reduce((sum, width) => sum + width, (widths.length - 1) * gap.length)
  for (let excess = total() - available; excess > 0; excess = total() - available) {
    const widest = widestShrinkable(columns, widths)
    if (widest === undefined) return undefined
    widths[widest] = Math.max(leastWidth, (widths[widest] ?? 0) - 1)
  }
  return widths
}

function widestShrinkable<Item>(columns: readonly Column<Item>[], widths: readonly number[]) {
  return columns
    .flatMap(({ canShrink }, index) => (canShrink && (widths[index] ?? 0) > leastWidth ? [index] : []))
    .sort((one, other) => (widths[other] ?? 0) - (widths[one] ?? 0))[0]
}

function renderRow<Item>(
  columns: readonly Column<Item>[],
  row: readonly Text[],
  widths: readonly number[],
  paper: Paper,
): string {
  return row
    .map((cell, index) => {
      const width = widths[index] ?? 0
      const text = cut(cell.text, width)
      const space = ' '.repeat(Math.max(0, width - stringWidth(text)))
      const shown = coloured({ ...cell, text }, paper)
      return columns[index]?.align === 'right' ? space + shown : shown + space
    })
    .join(gap)
    .trimEnd()
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** The text within a width, with an ellipsis where it is cut, never in the middle of a character. */
function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text
  let kept = ''
  for (const { segment } of graphemes.segment(text)) {
    if (stringWidth(kept + segment) > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - stringWidth(text)))
}

function coloured({ text, colour }: Text, { hasColours }: Paper): string {
  return colour && hasColours ? styleText(colour, text, { validateStream: false }) : text
}
