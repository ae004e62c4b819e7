import type { ValidationItem } from '@purser/wire/errors'

import { maxEchoLength, maxFaults } from '../../limits.ts'

/**
 * The first faults of a 422, each with a bounded echo of its input: a long text is cut and ends in `…`, and an object or
 * a list with long JSON is left out, as the interface allows.
 */
export function boundEchoes(items: readonly ValidationItem[]): ValidationItem[] {
  return items.slice(0, maxFaults).map((item) => {
    if (!('input' in item)) return item
    const { input, ...others } = item
    if (typeof input === 'string') {
      return input.length > maxEchoLength ? { ...item, input: beginningOf(input) } : item
    }
    return isLarge(input) ? others : item
  })
}

function isLarge(input: unknown): boolean {
  return typeof input === 'object' && input !== null && JSON.stringify(input).length > maxEchoLength
}

/** Half a surrogate pair at the cut would not be text. */
function beginningOf(text: string): string {
  return `${text.slice(0, maxEchoLength).replace(/[\ud800-\udbff]$/, '')}…`
}
