import { pathOf } from './resource.ts'
import { spell } from './spell.ts'

/** Finds what a request costs in a table like `{ 'GET /reports/:id': … }`; the first that fits is taken. */
export function compileRoutes<Route>(table: Readonly<Record<string, Route>>) {
  const routes = Object.entries(table).map(([pattern, route]) => ({
    ...readPattern(pattern),
    pattern,
    route,
  }))
  for (const [index, late] of routes.entries()) {
    const early = routes.slice(0, index).find((one) => takesAllOf(one, late))
    if (!early) continue
    throw new TypeError(
      `The route "${late.pattern}" is never reached behind "${early.pattern}", which takes all of its requests: put it first, or leave it out`,
    )
  }

  return (method: string, target: string): Route | undefined => {
    const [path = ''] = pathOf(target).split(/[?#]/)
    // Some routers take what follows a semicolon for no part of the path.
    const paths = [path, path.split(';')[0] ?? ''].flatMap(readingsOf)
    const found = routes.find(
      (route) => isMethod(route.method, method) && paths.some((segments) => fits(route.segments, segments)),
    )
    return found?.route
  }
}

interface Pattern {
  readonly method: string
  readonly segments: readonly string[]
}

function readPattern(pattern: string): Pattern {
  const [, method = '', path = ''] = /^(?:([A-Z]+) +)?(\/[^\s?#\\{}[\]<>|^"`]*)$/.exec(pattern) ?? []
  const segments = segmentsOf(path)
  if (path === '' || !segments.every(isReadable)) {
    throw new TypeError(
      `A route is written "GET /path/:parameter" or "GET /path/*", without a query, not ${spell(pattern)}`,
    )
  }
  if (method !== '' && !methods.split(' ').includes(method)) {
    throw new TypeError(
      `A route names a method that brings goods, such as GET, which covers HEAD, or none for all of them, not ${spell(pattern)}`,
    )
  }
  return { method, segments }
}

/** What is a whole `*` at the end, a whole `:parameter`, or a text that stands in the paths which come. */
function isReadable(segment: string, index: number, { length }: readonly string[]): boolean {
  if (segment === '*') return index === length - 1
  return !/\*|^\.\.?$|^:.*[+()]/.test(segment)
}

/** All that Node's servers and those in the style of Fetch hand on, but HEAD, which is never charged. */
const methods =
  'ACL BIND CHECKOUT COPY DELETE GET LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE'

function takesAllOf(early: Pattern, late: Pattern): boolean {
  const isPrefix = late.segments.at(-1) === '*'
  return (
    (early.method === '' || early.method === late.method) &&
    (!isPrefix || early.segments.at(-1) === '*') &&
    fits(early.segments, isPrefix ? late.segments.slice(0, -1) : late.segments)
  )
}

/** Routers answer HEAD with the handler of GET. */
function isMethod(expected: string, method: string): boolean {
  return expected === '' || expected === method || (expected === 'GET' && method === 'HEAD')
}

/**
 * What a path may be taken for: as it came, as WHATWG URLs resolve `.` and `..` in it, and as a file server does,
 * which decodes first.
 */
function readingsOf(path: string): string[][] {
  const { pathname } = new URL(`http://localhost${path}`)
  return [segmentsOf(path), segmentsOf(pathname), resolve(decode(path))]
}

function resolve(path: string): string[] {
  const resolved: string[] = []
  for (const segment of segmentsOf(path.replaceAll('\\', '/'))) {
    if (segment === '..') resolved.pop()
    else if (segment !== '.') resolved.push(segment)
  }
  return resolved
}

/**
 * Routers differ in what they take for the same path: upper and lower case, slashes at the end or doubled,
 * encoded characters. A path that one of them takes for a paid route must be found, or its goods are free;
 * so all of that is ignored here.
 */
function segmentsOf(path: string): string[] {
  return path
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => decode(segment).toLowerCase())
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  const isPrefix = pattern.at(-1) === '*'
  const fixed = isPrefix ? pattern.slice(0, -1) : pattern
  if (isPrefix ? segments.length < fixed.length : segments.length !== fixed.length) return false
  return fixed.every((expected, index) => expected.startsWith(':') || expected === segments[index])
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
