import type { Secrets } from '../secrets.ts'
import { bounded } from './bounded.ts'
import { redirectOf, type WebAnswer } from './exchange.ts'

/** A merchant's response as a model gets it. */
export interface Content {
  readonly status: number
  readonly content_type: string | null
  /** The target of a redirect that was not followed. */
  readonly location: string | null
  readonly encoding: 'text' | 'base64'
  readonly body: string
  /** Length of `body` in bytes; UTF-8 for text. */
  readonly bytes: number
  /** Whether the response continues after `body`. */
  readonly truncated: boolean
  /** Where `partOf` continues, in bytes; null at the end. */
  readonly next_offset: number | null
}

/** How much of a response is read and stored for one purchase. */
export const maxAnswerBytes = 1_048_576

/** Text stays text; everything else becomes base64. */
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

/** At most `maxBytes` of the content, starting at byte `offset`. Text is cut between characters. */
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
/** The interface's length limit for a URL. */
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
