import type { Secrets } from '../secrets.ts'
import { redirectOf, type WebAnswer } from './exchange.ts'

/** A merchant's answer as a model gets it. */
export interface Content {
  readonly status: number
  readonly content_type: string | null
  /** Where a redirect leads that was not followed. */
  readonly location: string | null
  readonly encoding: 'text' | 'base64'
  readonly body: string
  /** How many bytes of the answer are in `body`. */
  readonly bytes: number
  /** Whether the answer was longer than what was read of it. */
  readonly truncated: boolean
}

/** Text stays text; anything else becomes base64. */
export function contentOf(answer: WebAnswer, secrets: Secrets): Content {
  const type = answer.header('content-type')
  const isText = answer.bytes.length === 0 || isTextType(type ?? '')
  const isWithheld = !isText && secrets.areIn(answer.bytes)
  const bytes = isWithheld ? Buffer.alloc(0) : answer.bytes
  return {
    status: answer.status,
    content_type: type ?? null,
    location: redirectOf(answer)?.href ?? null,
    encoding: isText ? 'text' : 'base64',
    body: isText ? decode(bytes, type ?? '') : bytes.toString('base64'),
    bytes: bytes.length,
    truncated: answer.isTruncated || isWithheld,
  }
}

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
