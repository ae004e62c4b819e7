/**
 * Every path that a common HTTP server could derive from a request target, as texts that begin with a slash.
 *
 * Servers differ: one compares the target as it came, another resolves it with `new URL(target, base)`, which
 * reads `//x/report` as `/report` at the host `x`; a file server decodes `%2e%2e` and climbs; others ignore
 * what follows a semicolon. So each rule that some server applies is applied to each result of the others, in
 * every order, until there are no new results. Undefined if there are too many results: such a target is
 * refused.
 *
 * @param mounts Paths below which the server or the router is mounted, such as `/shop` or `/:tenant`. Each
 * target is also read without them.
 */
export function readingsOf(
  targets: Iterable<string>,
  mounts: readonly Mount[],
): readonly string[] | undefined {
  const found = new Set<string>()
  for (const target of targets) for (const path of pathsOf(target)) found.add(path)
  let budget = maxCharacters
  // A set also iterates over items that are added during the loop.
  for (const path of found) {
    budget -= path.length + 1
    if (found.size > maxReadings || budget < 0) return undefined
    for (const rule of rules) found.add(rooted(rule(path)))
    for (const isMounted of mounts) found.add(withoutMount(path, isMounted))
  }
  return [...found].filter((path) => !/[?#]/.test(path))
}

/** The segments of a path without the mount path, if the path starts with it. */
export type Mount = readonly ((segment: string) => boolean)[]

/** An ordinary path has one or two readings. No legitimate path has this many, or is this long with several. */
const maxReadings = 200
const maxCharacters = 40_000

const rules: readonly ((path: string) => string)[] = [
  withoutQuery,
  // Fastify's `useSemicolonDelimiter`; then Java's matrix parameters.
  (path) => path.split(';', 1)[0] ?? '',
  (path) => path.replace(/;[^/]*/g, ''),
  decode,
  (path) => path.replaceAll('\\', '/'),
  (path) => path.replace(/^[/\\]{2,}[^/\\?#]*/, ''),
  // Also removes tabs, line breaks and trailing spaces.
  (path) => (URL.canParse(path, 'http://localhost') ? new URL(path, 'http://localhost').pathname : path),
  resolveAsFile,
  (path) => path.replace(/\/{2,}/g, '/'),
  (path) => path.replace(/\/$/, ''),
]

/** Path and query of a request target, which may be in absolute form (`GET http://host/path`). */
export function pathOf(target: string): string {
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path === '*' ? '/' : rooted(path)
}

/** Percent-decodes; invalid UTF-8 stays encoded, as in Hono. */
export function decode(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text.replace(/(?:%[\da-f]{2})+/gi, (run) => {
      try {
        return decodeURIComponent(run)
      } catch {
        return run
      }
    })
  }
}

/** Like `path.posix.normalize`: `..` also removes empty segments. */
function resolveAsFile(path: string): string {
  const resolved: string[] = []
  const segments = path.split('/')
  for (const segment of segments) {
    if (segment === '..') resolved.pop()
    else if (segment !== '' && segment !== '.') resolved.push(segment)
  }
  if (segments.at(-1) === '' && resolved.length > 0) resolved.push('')
  return resolved.join('/')
}

/**
 * The initial readings. A query is not part of the path and may contain any path. But `/free?/../report` is `/report`
 * for a server that joins the whole target to a folder, and the authority of `http://x%2Freport` ends earlier for a
 * server that decodes first.
 */
function* pathsOf(target: string): Generator<string> {
  yield withoutQuery(pathOf(target))
  let text = target
  for (let round = 0; round < maxDecodings; round++) {
    for (const joined of [text, text.split('?', 1)[0] ?? '']) {
      const queryAt = joined.search(/[?#]/)
      if (queryAt !== -1 && joined.includes('..', queryAt))
        yield withoutQuery(rooted(resolveAsFile(joined.replaceAll('\\', '/'))))
    }
    if (!text.startsWith('/')) {
      yield withoutQuery(pathOf(text))
      if (URL.canParse(text)) yield rooted(new URL(text).pathname)
    }
    const decoded = decode(text)
    if (decoded === text) return
    text = decoded
  }
}

const maxDecodings = 4

function withoutQuery(path: string): string {
  return path.split(/[?#]/, 1)[0] ?? ''
}

function withoutMount(path: string, mount: Mount): string {
  const [, ...segments] = path.split('/')
  const isBelow = segments.length >= mount.length && mount.every((fits, index) => fits(segments[index] ?? ''))
  return isBelow ? rooted(segments.slice(mount.length).join('/')) : path
}

function rooted(path: string): string {
  return path.startsWith('/') ? path : `/${path}`
}
