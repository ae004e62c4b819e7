import { decode, pathOf, readingsOf, type Mount } from './readings.ts'
import { spell } from './spell.ts'

/** The entry of a table for a request. */
export type Finding<Route> =
  | { readonly outcome: 'free' }
  | { readonly outcome: 'found'; readonly route: Route }
  // Servers could match different entries, or the match cannot be determined.
  | { readonly outcome: 'ambiguous' }

/** The possible locations of a request in a table. */
export interface Place {
  readonly method: string
  /** The original target, and the one rewritten by a framework. */
  readonly targets: Iterable<string>
  /** The path at which the framework mounted the gate, such as `/shop` or `/:tenant`. */
  readonly mount?: string | undefined
}

/**
 * Finds the price of a request in a table like `{ 'GET /reports/:id': … }`; the first matching entry counts.
 *
 * @param publicPath The path of the public address, which a proxy may have stripped: a path in the table may
 * include it or not.
 */
export function compileRoutes<Route>(table: Readonly<Record<string, Route>>, publicPath = '') {
  const routes = Object.entries(table).map(([pattern, route]) => ({
    ...readPattern(pattern),
    pattern,
    route,
  }))
  for (const [index, late] of routes.entries()) {
    const early = routes.slice(0, index).find((one) => takesAllOf(one, late))
    if (!early) continue
    throw new TypeError(
      `The route "${late.pattern}" is unreachable after "${early.pattern}", which matches all of its requests: put it first, or remove it`,
    )
  }

  return ({ method, targets, mount = '' }: Place): Finding<Route> => {
    const all = new Set(targets)
    if (publicPath !== '') for (const target of targets) all.add(publicPath + pathOf(target))
    const paths = readingsOf(all, [mount, publicPath].filter((path) => /[^/]/.test(path)).map(toMount))
    if (paths === undefined) return { outcome: 'ambiguous' }
    const possible = routes.filter((route) => isMethod(route.method, method))
    const found = new Set<(typeof routes)[number]>()
    for (const path of paths) {
      const exact = segmentsOf(path)
      for (const [spelling, segments] of [['exact', exact] as const, ['folded', exact.map(fold)] as const]) {
        const first =
          possible.find((route) => fits(route[spelling], segments)) ??
          (path === '/' ? possible.find((route) => fits(route[spelling], [''])) : undefined)
        if (first) found.add(first)
      }
    }
    const [first, another] = found
    if (another) return { outcome: 'ambiguous' }
    return first ? { outcome: 'found', route: first.route } : { outcome: 'free' }
  }
}

interface Pattern {
  readonly method: string
  /** The segments for a case-sensitive router. */
  readonly exact: readonly string[]
  /** The segments after `fold`. */
  readonly folded: readonly string[]
}

function readPattern(pattern: string): Pattern {
  const [, method = '', path = ''] = /^(?:([A-Z]+) +)?(\/[^\s?#\\{}[\]<>|^"`]*)$/.exec(pattern) ?? []
  const exact = segmentsOf(path.replace(/\/{2,}/g, '/').replace(/\/$/, '') || '/')
  if (path === '' || !exact.every(isReadable)) {
    throw new TypeError(
      `A route must look like "GET /path/:parameter" or "GET /path/*", without a query, not ${spell(pattern)}`,
    )
  }
  if (method !== '' && !methods.split(' ').includes(method)) {
    throw new TypeError(
      `A route must have a method that returns goods, such as GET, which includes HEAD, or no method for all of them, not ${spell(pattern)}`,
    )
  }
  return { method, exact, folded: exact.map((segment) => (isParameter(segment) ? segment : fold(segment))) }
}

/** A final `*`, a `:parameter`, or literal text. */
function isReadable(segment: string, index: number, { length }: readonly string[]): boolean {
  if (segment === '*') return index === length - 1
  return !/\*|^\.\.?$|^:.*[+()]/.test(segment)
}

/** All methods that servers on Node and Fetch support, except HEAD, which is never charged. */
const methods =
  'ACL BIND CHECKOUT COPY DELETE GET LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE'

function takesAllOf(early: Pattern, late: Pattern): boolean {
  const isPrefix = late.folded.at(-1) === '*'
  return (
    (early.method === '' || early.method === late.method) &&
    (!isPrefix || early.folded.at(-1) === '*') &&
    fits(early.folded, isPrefix ? late.folded.slice(0, -1) : late.folded)
  )
}

/** Routers handle HEAD with the handler of GET, and some ignore the case of a method. */
function isMethod(expected: string, method: string): boolean {
  const asked = method.toUpperCase()
  return expected === '' || expected === asked || (expected === 'GET' && asked === 'HEAD')
}

/** The decoded segments of a path; none for the root. A trailing slash adds an empty one. */
function segmentsOf(path: string): string[] {
  return path === '/' ? [] : path.split('/').slice(1).map(decode)
}

/**
 * A segment without differences that some servers and file systems ignore: case, Unicode normalization, trailing dots
 * and spaces.
 */
function fold(segment: string): string {
  const text = segment.replace(/(?<=[^. ])[. ]+$/, '')
  return isAscii(text) ? text.toLowerCase() : text.normalize('NFKC').toUpperCase().toLowerCase()
}

function isAscii(text: string): boolean {
  return !/[^\x20-\x7e]/.test(text)
}

/** Whether each segment of a mount path equals another. */
function toMount(path: string): Mount {
  const expected = segmentsOf(path.replace(/\/+$/, '') || '/')
  return expected.map((one) => (segment) => isParameter(one) || fold(one) === fold(decode(segment)))
}

/** A `:parameter` also matches an empty segment, as in Fastify's routers. */
function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  const isPrefix = pattern.at(-1) === '*'
  const fixed = isPrefix ? pattern.slice(0, -1) : pattern
  if (isPrefix ? segments.length < fixed.length : segments.length !== fixed.length) return false
  return fixed.every((expected, index) => isParameter(expected) || expected === segments[index])
}

function isParameter(segment: string): boolean {
  return segment.startsWith(':')
}
