import type { Secrets } from '../secrets.ts'
import { bounded } from './bounded.ts'
import { redirectOf, type WebAnswer } from './exchange.ts'

/** A merchant's answer as a model gets it. */
export interface Content {
  readonly status: number
  readonly content_type: string | null
  /** Where a redirect leads that was not followed. */
  readonly location: string | null
  readonly encoding: 'text' | 'base64'
  readonly body: string
  /** How many bytes are in `body`; of text as UTF-8. */
  readonly bytes: number
  /** Whether the answer went on after what is in `body`. */
  readonly truncated: boolean
  /** The byte from which on `partOf` gives more; null when there is no more to give. */
  readonly next_offset: number | null
}

/** How much of an answer is read and kept for one purchase. */
export const maxAnswerBytes = 1_048_576

/** Text stays text; anything else becomes base64. */
export function contentOf(answer: WebAnswer, secrets: Secrets): Content {
  const type = answer.header('content-type')
  const target = redirectOf(answer)
  const isText = answer.bytes.length === 0 || isTextType(type ?? '')
  const isWithheld = !isText && secrets.areIn(answer.bytes)
  const text = isText ? secrets.clean(decode(answer.bytes, type ?? '')) : ''
  const bytes = isWithheld ? Buffer.alloc(0) : answer.bytes
  return {
    status: answer.status,
    content_type: type === undefined ? null : bounded(type, maxTypeLength),
    location: target === undefined ? null : bounded(target.href, maxAddressLength),
    encoding: isText ? 'text' : 'base64',
    body: isText ? text : bytes.toString('base64'),
    bytes: isText ? Buffer.byteLength(text) : bytes.length,
    truncated: answer.isTruncated || isWithheld,
    next_offset: null,
  }
}

/** At most `maxBytes` of the content, from byte `offset` on. Text is cut between characters. */
export function partOf(
  content: Content,
  { offset, maxBytes }: { offset: number; maxBytes: number },
): Content {
  if (offset === 0 && content.bytes <= maxBytes) return content
  const encoding = content.encoding === 'text' ? 'utf8' : 'base64'
  const bytes = Buffer.from(content.body, encoding)
  const between = (index: number) => {
    let at = Math.min(index, bytes.length)
    if (encoding === 'utf8') while (at > 0 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at--
    return at
  }
  const start = between(offset)
  const end = between(start + maxBytes)
  const hasMore = end < bytes.length
  return {
    ...content,
    body: bytes.subarray(start, end).toString(encoding),
    bytes: end - start,
    truncated: hasMore || content.truncated,
    next_offset: hasMore ? end : null,
  }
}

const maxTypeLength = 200
/** The longest address that the interface takes. */
const maxAddressLength = 2083

function isTextType(type: string): boolean {
  const [name = ''] = type.toLowerCase().split(';')
  return /^text\/|[/+](json|xml|yaml)$|^application\/(x-)?(ndjson|javascript|www-form-urlencoded)$/.test(
    name.trim(),
  )
}

function decode(bytes: Buffer, type: string): string {
  const charset = /charset="?([\w-]+)/i.exec(type)?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return bytes.toString('utf8')
  }
}
