import { seededRandom, type SeededRandom } from '../../../service/testing/seeded-random.ts'

/** A raw request, without the normalization of `fetch`. */
export interface RawRequest {
  readonly target: string
  /** The `Host` header. */
  readonly host: string
}

/**
 * Requests that some HTTP server could take for one of the paths: random combinations of everything that URL parsers,
 * file servers and routers treat differently. The same seed produces the same requests.
 */
export function spellingsOf(
  paths: readonly [string, ...string[]],
  count: number,
  seed: number,
): RawRequest[] {
  const random = seededRandom(seed)
  const requests = new Map<string, RawRequest>()
  while (requests.size < count) {
    let request: RawRequest = { target: random.pick(paths), host: 'shop.example' }
    for (let rounds = 1 + random.below(4); rounds > 0; rounds--) {
      request = random.pick(mutations)(request, random)
    }
    requests.set(JSON.stringify(request), request)
  }
  return [...requests.values()]
}

type Mutation = (request: RawRequest, random: SeededRandom) => RawRequest

/** A mutation that prepends one of the texts. */
function prepend(texts: readonly [string, ...string[]]): Mutation {
  return ({ target, host }, random) => ({ target: random.pick(texts) + target, host })
}

/** A mutation that appends one of the texts. */
function append(texts: readonly [string, ...string[]]): Mutation {
  return ({ target, host }, random) => ({ target: target + random.pick(texts), host })
}

/** A mutation that replaces a matching character. */
function replaceOne(pattern: RegExp, replace: (char: string, random: SeededRandom) => string): Mutation {
  return ({ target, host }, random) => {
    const places = [...target.matchAll(pattern)]
    const place = places[random.below(Math.max(1, places.length))]
    if (!place) return { target, host }
    const after = place.index + place[0].length
    return { target: target.slice(0, place.index) + replace(place[0], random) + target.slice(after), host }
  }
}

const mutations: readonly [Mutation, ...Mutation[]] = [
  prepend([
    '//x',
    '///x',
    '/\\x',
    '/\\/x',
    '//@x',
    '//u:p@x:80',
    '//x:0',
    '//[::1]',
    '////x',
    '/%5cx',
    '//x%2f',
  ]),
  prepend(['http://x', 'HTTPS://u:p@x:1', 'http://', 'x://y', 'http:///x', 'http://x\\y']),
  prepend([
    '/.',
    '/./',
    '/x/..',
    '/x/../',
    '/x/%2e%2E',
    '/x//../..',
    '/x\\..',
    '/..;',
    '/x;/..',
    '/%2e',
    '*/..',
    '/',
  ]),
  prepend([
    '/free/..',
    '/free/../',
    '/free?/..',
    '/free#/..',
    '/free;/..',
    '/free?x=/../..',
    '/free%3f/..',
    '/..%2f',
  ]),
  append(['/', '//', '/.', '/x/..', '/%2e', '\\', '%2f', '%5C', '%20', '%09', '.', '%00']),
  append([
    '?',
    '?x=1',
    '?/../free',
    '#',
    '#x',
    ';',
    ';v=1',
    ';/',
    ';v=1/x',
    '%3f',
    '%3Fx',
    '%23',
    '%3b',
    '/..;/',
  ]),
  replaceOne(/\//g, (_, random) =>
    random.pick(['//', '/./', '/x/../', '\\', '%2f', '%5c', '/;x/', '/%2e/', '/%09']),
  ),
  replaceOne(/[a-z]/gi, (char) => (char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase())),
  replaceOne(/[a-z./\\?;#]/gi, percentEncode),
  replaceOne(/%/g, () => '%25'),
  replaceOne(/[a-z]/gi, (char, random) => char + random.pick(['%09', '%0a', '%0D', '%00'])),
  ({ target, host }) => ({ target: target.replace(/[a-z]/gi, percentEncode), host }),
  ({ target }, random) => ({
    target: random.pick(['/free', '/', '/..']),
    host: random.pick(['x', 'u@x', 'x:1']) + target.split(/[?#]/)[0] + random.pick(['?', '#', '/..', '\\..']),
  }),
]

function percentEncode(char: string): string {
  return `%${char.charCodeAt(0).toString(16)}`
}
