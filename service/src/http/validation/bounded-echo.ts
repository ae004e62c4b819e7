import type { ValidationItem } from '@purser/wire/errors'

import { maxEchoLength, maxErrors } from '../../limits.ts'

/**
 * The first errors of a 422, with bounded inputs: a long text is truncated and ends in `…`; an object or a list with
 * long JSON is omitted, as the interface allows.
 */
export function boundEchoes(items: readonly ValidationItem[]): ValidationItem[] {
  return items.slice(0, maxErrors).map((item) => {
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

/** Half a surrogate pair at the end would be invalid. */
function beginningOf(text: string): string {
  return `${text.slice(0, maxEchoLength).replace(/[\ud800-\udbff]$/, '')}…`
}
