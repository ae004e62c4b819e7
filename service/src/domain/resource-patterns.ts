import { normalizeHostName } from './host-name.ts'

/** A parsed entry of `allowed_resources`. */
export interface ResourcePattern {
  /** Scheme, host and port, normalized. */
  readonly origin: string
  /** The path, normalized, without the `*`. */
  readonly path: string
  /** Whether every path that begins with `path` matches. */
  readonly isPrefix: boolean
}

/**
 * Parses an entry of `allowed_resources`: an http or https URL, whose path may end in `*`. If two readers
 * could understand it differently, returns what is wrong, as a sentence part after "the pattern".
 */
export function parseResourcePattern(text: string): ResourcePattern | { readonly error: string } {
  // oxlint-disable-next-line no-control-regex -- URL parsers strip or encode them
  if (/[\0- \x7f]/.test(text)) return { error: 'must not contain spaces or control characters' }
  if (text.includes('\\')) return { error: 'must not contain a backslash' }
  const [, authority = '', path = '', rest = ''] = urlParts.exec(text) ?? []
  const url = URL.parse(text)
  if (authority === '' || !url) return { error: `must be a URL such as ${example}` }
  if (authority.includes('@')) return { error: 'must not contain a user name or a password' }
  if (rest.startsWith('?')) return { error: 'must not have a query: it matches every query of its path' }
  if (rest.startsWith('#')) return { error: 'must not have a fragment' }
  if (/[*%]/.test(authority)) return { error: 'must name its host without wildcards and percent signs' }
  if (path === '') return { error: 'needs a path: `/*` allows everything on the host, `/` only its root' }
  const isPrefix = path.endsWith('*')
  const literal = isPrefix ? path.slice(0, -1) : path
  if (literal.includes('*')) return { error: 'may have one `*`, as its last character' }
  if (literal.includes('//')) return { error: 'must not contain an empty path segment' }
  const fault = faultOfPath(literal)
  if (fault) return { error: `must not contain ${fault}` }
  const { pathname } = isPrefix ? new URL(text.slice(0, -1)) : url
  return { origin: originOf(url), path: normalizePath(pathname), isPrefix }
}

const example = 'https://api.example.com/reports/*'

/**
 * Whether a list of patterns admits a URL. `unclear`: servers could read the URL in different ways, so no pattern admits it.
 */
export function matchResource(
  patterns: readonly string[],
  resourceUrl: string,
): 'admitted' | 'not_admitted' | 'unclear' {
  if (resourceUrl !== latest.text) latest = { text: resourceUrl, resource: readResource(resourceUrl) }
  const { resource } = latest
  if (!resource) return 'unclear'
  const ofOrigin = readPatterns(patterns).get(resource.origin)
  if (!ofOrigin) return 'not_admitted'
  const { path } = resource
  const isAdmitted = ofOrigin.paths.has(path) || ofOrigin.prefixes.some((prefix) => path.startsWith(prefix))
  return isAdmitted ? 'admitted' : 'not_admitted'
}

type Resource = Pick<ResourcePattern, 'origin' | 'path'>

/** A payment is decided several times, and parsing its URL costs more than the comparison. */
let latest: { readonly text: string; readonly resource: Resource | undefined } = {
  text: '',
  resource: undefined,
}

/** A URL as patterns see it; undefined if servers could read it in different ways. */
function readResource(text: string): Resource | undefined {
  // oxlint-disable-next-line no-control-regex -- URL parsers strip or encode them
  if (/[\0- \x7f]/.test(text)) return undefined
  const [, authority = '', path = ''] = urlParts.exec(text) ?? []
  const url = URL.parse(text)
  if (authority === '' || !url) return undefined
  if (authority.includes('@') || authority.includes('%') || faultOfPath(path)) return undefined
  return { origin: originOf(url), path: normalizePath(url.pathname) }
}

/** Whether patterns admit nothing beyond others; null admits every URL. */
export function isWithinPatterns(
  allowed: readonly string[] | null,
  patterns: readonly string[] | null,
): boolean {
  if (allowed === null) return true
  if (patterns === null) return false
  const known = readPatterns(allowed)
  return patterns.every((text) => {
    const parsed = parseResourcePattern(text)
    if ('error' in parsed) return true
    const { paths = new Set<string>(), prefixes = [] } = known.get(parsed.origin) ?? {}
    const isBelow = prefixes.some((prefix) => parsed.path.startsWith(prefix))
    return isBelow || (!parsed.isPrefix && paths.has(parsed.path))
  })
}

/** The scheme, the authority, the path, and the query with the fragment. */
const urlParts = /^https?:\/\/([^/\\?#]+)([^?#]*)(.*)$/is

interface OriginPatterns {
  readonly paths: Set<string>
  readonly prefixes: string[]
}

/** The patterns by origin. A list never changes, so it is parsed once. */
function readPatterns(patterns: readonly string[]): ReadonlyMap<string, OriginPatterns> {
  const known = parsedLists.get(patterns)
  if (known) return known
  const byOrigin = new Map<string, OriginPatterns>()
  for (const text of patterns) {
    const parsed = parseResourcePattern(text)
    // Stored patterns were valid when they were added; one that is not admits nothing.
    if ('error' in parsed) continue
    const ofOrigin = byOrigin.get(parsed.origin) ?? { paths: new Set(), prefixes: [] }
    byOrigin.set(parsed.origin, ofOrigin)
    if (parsed.isPrefix) ofOrigin.prefixes.push(parsed.path)
    else ofOrigin.paths.add(parsed.path)
  }
  parsedLists.set(patterns, byOrigin)
  return byOrigin
}

const parsedLists = new WeakMap<readonly string[], ReadonlyMap<string, OriginPatterns>>()

function originOf({ protocol, hostname, port }: URL): string {
  return `${protocol}//${normalizeHostName(hostname)}${port === '' ? '' : `:${port}`}`
}

/** The spelling that equal URLs share, without user name, query and fragment. */
export function normalizeResource(url: URL): string {
  return `${originOf(url)}${normalizePath(url.pathname)}`
}

/**
 * What in a path servers could read in different ways, however often they decode it; undefined if nothing.
 * Without it, the path has the same segments for every server.
 */
function faultOfPath(path: string): string | undefined {
  if (path.includes('\\')) return 'a backslash'
  if (/%(?![0-9a-f]{2})/i.test(path)) return invalidEncoding
  let decoded = path
  for (let times = 0; times < maxDecodings; times++) {
    if (decoded.split('/').some(isDotSegment)) return 'a dot segment, such as `..`'
    const next = decodeOnce(decoded)
    if (next === undefined) return invalidEncoding
    if (next === decoded) return undefined
    if (next.includes('\\')) return 'an encoded backslash'
    if (countOf(next, '/') !== countOf(decoded, '/')) return 'an encoded slash'
    // oxlint-disable-next-line no-control-regex -- servers cut off or strip at these
    if (/[\0-\x1f\x7f]/.test(next)) return 'an encoded control character'
    decoded = next
  }
  return 'a percent-encoding of percent-encodings'
}

const invalidEncoding = 'an invalid percent-encoding'
const maxDecodings = 4

/**
 * The path with its percent-encodings decoded once, and with plain characters for compatible ones such as `／`, which some
 * servers replace. Undefined if they are not UTF-8.
 */
function decodeOnce(path: string): string | undefined {
  try {
    return path.replaceAll(/(?:%[0-9a-f]{2})+/gi, decodeURIComponent).normalize('NFKC')
  } catch {
    return undefined
  }
}

/**
 * Also with a parameter (`..;x`), which some servers cut off, and with dots or spaces that some file systems
 * ignore.
 */
function isDotSegment(segment: string): boolean {
  const [name = ''] = segment.split(';', 1)
  return name.includes('.') && /^[. ]+$/.test(name)
}

function countOf(text: string, character: string): number {
  return text.split(character).length
}

/** The spelling that equal paths share: upper-case percent-encodings, and only where they are needed (RFC 3986). */
function normalizePath(pathname: string): string {
  return pathname.replaceAll('*', '%2A').replaceAll(/%[0-9a-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
    return /[\w.~-]/.test(character) ? character : encoded.toUpperCase()
  })
}
