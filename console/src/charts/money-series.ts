import type { Spending } from '@purser/client'

/** What has a colour in the chart. */
export interface Series {
  readonly name: string
  /** The class of its colour. */
  readonly look: string
  /** One for each bucket, as text. */
  readonly amounts: readonly string[]
}

/** The parts of the spending, most first, and all others; one series if it is not split. */
export function seriesOf({ buckets, split }: Pick<Spending, 'buckets' | 'split'>): Series[] {
  if (!split) {
    return [{ name: 'Spent', look: 'spent', amounts: buckets.map(({ spent }) => spent) }]
  }
  const parts = split.parts.map(({ subject, name, buckets: amounts }, index) => ({
    name: split.by === 'agent' ? name || 'Unnamed agent' : subject,
    look: `part-${index + 1}`,
    amounts,
  }))
  const hasRest = split.rest.buckets.some((amount) => Number(amount) !== 0)
  const restName = split.by === 'category' ? 'Others, or no category' : 'All others'
  const rest = { name: restName, look: 'rest', amounts: split.rest.buckets }
  return hasRest || parts.length === 0 ? [...parts, rest] : parts
}

/** Where the pieces of a bar are drawn: what was spent up from zero, what was refunded beyond it down from zero. */
export function stackOf(amounts: readonly number[]) {
  let top = 0
  let bottom = 0
  const pieces = amounts.map((amount) => {
    if (amount < 0) return { from: (bottom += amount), to: bottom - amount }
    return { from: top, to: (top += amount) }
  })
  return { pieces, top, bottom }
}
