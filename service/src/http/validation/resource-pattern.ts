import { parseResourcePattern } from '../../domain/resource-patterns.ts'
import { Refusal, refuse, type Reader } from './refusal.ts'
import { urlReader } from './url.ts'

/** Validates entries of `allowed_resources`: URLs that every server reads in the same way, and that may end in `*`. */
export function resourcePatternReader(maxLength: number | undefined): Reader {
  const readUrl = urlReader(maxLength)
  return (input) => {
    const url = readUrl(input)
    if (url instanceof Refusal) return url
    const parsed = parseResourcePattern(url as string)
    return 'error' in parsed ? refuse('value_error', input, { error: `the pattern ${parsed.error}` }) : url
  }
}
