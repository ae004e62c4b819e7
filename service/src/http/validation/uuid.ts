import { refuse, refuseIllFormed, type Reader } from './refusal.ts'

/** Validates UUIDs of any version, in each notation that UUID libraries accept. */
export const uuidReader: Reader = (input) => {
  if (typeof input !== 'string') return refuse('uuid_type', input)
  if (uuidText.test(input)) return input
  if (!input.isWellFormed()) return refuseIllFormed(input)
  return refuse('uuid_parsing', input, { error: errorIn(input) })
}

const hyphenated = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'

/** Hyphenated, plain, in braces, or as a URN with a lower-case prefix. */
const uuidText = new RegExp(
  `^(?:${hyphenated}|[0-9a-f]{32}|\\{${hyphenated}\\}|(?-i:urn:uuid:)${hyphenated})$`,
  'i',
)

/**
 * The reason why a text is not a UUID, in the words of the most popular library. Positions and lengths count UTF-8
 * bytes, positions start at one; braces and prefixes count too, unless the length is right.
 */
function errorIn(text: string): string {
  const bare = /^\{(.*)\}$/s.exec(text)?.[1] ?? /^urn:uuid:(.*)$/s.exec(text)?.[1] ?? text
  const isWrapped = bare !== text
  if (isWrapped && Buffer.byteLength(bare) === uuidLength) return errorIn(bare)

  const stranger = /[^0-9a-f-]/iu.exec(bare)
  if (stranger) {
    const before = Buffer.byteLength(text.slice(0, text.indexOf(bare) + stranger.index))
    return `invalid character: found \`${stranger[0]}\` at ${before + 1}`
  }
  const groups = bare.split('-')
  if (groups.length === 1 && !isWrapped) {
    return `invalid length: expected length 32 for simple format, found ${text.length}`
  }
  if (groups.length !== groupLengths.length) {
    return `invalid group count: expected 5, found ${groups.length}`
  }
  const wrong = groups.findIndex((group, index) => group.length !== groupLengths[index])
  const found = wrong === 4 ? text.length - lastGroupStart : groups[wrong]?.length
  return `invalid group length in group ${wrong}: expected ${groupLengths[wrong]}, found ${found}`
}

const groupLengths = [8, 4, 4, 4, 12]
const lastGroupStart = 24
const uuidLength = 36
