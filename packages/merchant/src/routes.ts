import { pathOf } from './resource.ts'

/** Finds what a request costs in a table like `{ 'GET /reports/:id': … }`; the first that fits is taken. */
export function compileRoutes<Route>(table: Readonly<Record<string, Route>>) {
  const routes = Object.entries(table).map(([pattern, route]) => ({ ...readPattern(pattern), route }))

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

function readPattern(pattern: string): { method: string; segments: string[] } {
  const [, method = '', path] = /^(?:([A-Z]+) +)?(\/\S*)$/.exec(pattern) ?? []
  if (path === undefined || /\*./.test(path)) {
    throw new TypeError(`A route is written "GET /path/:parameter" or "GET /path/*", not "${pattern}"`)
  }
  return { method, segments: segmentsOf(path) }
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
