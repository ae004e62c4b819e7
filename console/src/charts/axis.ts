/** Max width of a tick character in pixels: a digit in the smallest font size. */
const characterPx = 7.6

/** The left margin for tick labels, in pixels, so that none is clipped. */
export function axisRoom(labels: readonly string[]): number {
  const longest = Math.max(1, ...labels.map(({ length }) => length))
  return Math.max(34, Math.ceil(longest * characterPx) + 12)
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })

/** A tick of an axis: `250`, `1.5K`, `0.000001`. */
export function tickText(tick: number): string {
  return tick !== 0 && Math.abs(tick) < 0.001 ? tick.toFixed(7).replace(/0+$/, '') : compact.format(tick)
}
