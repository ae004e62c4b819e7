import { styleText } from 'node:util'

import stringWidth from 'string-width'

import { harmless } from './harmless.ts'

export type Colour = 'green' | 'yellow' | 'red' | 'dim'

/** The content of one cell: any text, escaped when it is shown. */
export type Cell = string | { readonly text: string; readonly colour: Colour | undefined }

export interface Column<Item> {
  readonly title: string
  readonly cell: (item: Item) => Cell
  /** Right-aligned, for amounts and counts. */
  readonly align?: 'right'
  /** Free text, which may be truncated on a narrow terminal. Ids and amounts never are. */
  readonly canShrink?: true
  /** Dropped on a narrow terminal, last column first, before free text gets too short. */
  readonly canDrop?: true
  /** Whether a single item has this field at all; always by default. */
  readonly isKnown?: (item: Item) => boolean
}

/** Where a table is shown. */
export interface Paper {
  readonly columns: number
  readonly hasColours: boolean
}

/** Min width of truncated text. */
const leastWidth = 8
const gap = '  '

/**
 * The items as a table with one line each; if the terminal is too narrow even with truncated text, one block
 * per item.
 */
export function renderTable<Item>(
  columns: readonly Column<Item>[],
  items: readonly Item[],
  paper: Paper,
): string {
  return tableOf(columns, paper)(items)
}

/** A continued table: each call renders more items under the same header. */
export function tableOf<Item>(
  columns: readonly Column<Item>[],
  paper: Paper,
): (items: readonly Item[]) => string {
  let layout: Layout<Item> | undefined
  return (items) => {
    const isFirst = layout === undefined
    layout = layOut(layout?.columns ?? columns, items, paper, layout?.widths)
    const { columns: shown, widths } = layout
    if (!widths) return items.map((item) => renderRecord(columns, item, paper)).join('\n\n')
    const title = shown.map(({ title }) => ({ text: title.toUpperCase(), colour: 'dim' as const }))
    const rows = items.map((item) => shown.map(({ cell }) => toText(cell(item))))
    return [...(isFirst ? [title] : []), ...rows]
      .map((row) => renderRow(shown, row, widths, paper))
      .join('\n')
  }
}

/** One item with one line per field. */
export function renderRecord<Item>(columns: readonly Column<Item>[], item: Item, paper: Paper): string {
  const known = columns.filter(({ isKnown }) => isKnown?.(item) ?? true)
  const width = Math.max(...known.map(({ title }) => stringWidth(title)))
  return known
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

/** The columns to show, with their widths; without widths, they do not fit. */
interface Layout<Item> {
  readonly columns: readonly Column<Item>[]
  readonly widths: readonly number[] | undefined
}

function layOut<Item>(
  columns: readonly Column<Item>[],
  items: readonly Item[],
  { columns: available }: Pick<Paper, 'columns'>,
  leastWidths: readonly number[] = [],
): Layout<Item> {
  const widths = columns.map(({ title, cell }, index) =>
    Math.max(
      stringWidth(title),
      leastWidths[index] ?? 0,
      ...items.map((item) => stringWidth(toText(cell(item)).text)),
    ),
  )
  const fitting = shrink(columns, widths, available)
  const dropped = columns.findLastIndex(({ canDrop }) => canDrop)
  if (fitting || dropped < 0) return { columns, widths: fitting }
  const isKept = (_: unknown, index: number) => index !== dropped
  return layOut(columns.filter(isKept), items, { columns: available }, leastWidths.filter(isKept))
}

/** Widths that fit the terminal; undefined if there are none. */
function shrink<Item>(
  columns: readonly Column<Item>[],
  natural: readonly number[],
  available: number,
): number[] | undefined {
  const widths = [...natural]
  let excess = widths.reduce((sum, width) => sum + width, (widths.length - 1) * gap.length) - available
  for (; excess > 0; excess -= 1) {
    const widest = widestShrinkable(columns, widths)
    if (widest === undefined) return undefined
    widths[widest] = (widths[widest] ?? 0) - 1
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

/** Truncates text to a width, with an ellipsis, never within a character. */
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

function coloured({ text, colour }: Text, paper: Pick<Paper, 'hasColours'>): string {
  return colour ? paint(text, colour, paper) : text
}

/** The text in a color, if colors are enabled. */
export function paint(text: string, colour: Colour, { hasColours }: Pick<Paper, 'hasColours'>): string {
  return hasColours ? styleText(colour, text, { validateStream: false }) : text
}
