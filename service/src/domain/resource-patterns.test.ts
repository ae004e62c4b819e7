import assert from 'node:assert/strict'
import { posix } from 'node:path'
import { test } from 'node:test'

import { spellingsOf } from '../../../packages/merchant/testing/spellings.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { matchResource, parseResourcePattern } from './resource-patterns.ts'

const refused: readonly (readonly [pattern: string, error: RegExp])[] = [
  ['reports/*', /must be a URL/],
  ['ftp://api.example.com/*', /must be a URL/],
  ['https:///api.example.com/*', /must be a URL/],
  ['https:api.example.com/*', /must be a URL/],
  ['https://api.example.com:99999/*', /must be a URL/],
  ['https://user@api.example.com/*', /user name/],
  ['https://user:secret@api.example.com/*', /user name/],
  ['https://api.example.com@evil.example/*', /user name/],
  ['https://api.example.com/reports?id=1', /query/],
  ['https://api.example.com/reports/*?', /query/],
  ['https://api.example.com/reports#top', /fragment/],
  ['https://*.example.com/reports/*', /host/],
  ['https://*/reports', /host/],
  ['https://%61pi.example.com/reports', /host/],
  ['https://api.example.com:*/', /must be a URL|host/],
  ['https://api.example.com', /needs a path/],
  ['https://api.example.com/*/reports', /one `\*`/],
  ['https://api.example.com/reports/**', /one `\*`/],
  ['https://api.example.com//reports/*', /empty path segment/],
  ['https://api.example.com/reports//*', /empty path segment/],
  ['https://api.example.com/a/../reports/*', /dot segment/],
  ['https://api.example.com/./reports', /dot segment/],
  ['https://api.example.com/a/%2E%2e/reports', /dot segment/],
  ['https://api.example.com/a/..;x/reports', /dot segment/],
  ['https://api.example.com/a/..*', /dot segment/],
  ['https://api.example.com/a/%252e%252e/*', /dot segment/],
  ['https://api.example.com/a%2Freports', /encoded slash/],
  ['https://api.example.com/a%252freports', /encoded slash/],
  ['https://api.example.com/a%5Creports', /encoded backslash/],
  ['https://api.example.com/a\\reports', /backslash/],
  ['https://api.example.com/a%00', /control character/],
  ['https://api.example.com/a b', /spaces/],
  ['https://api.example.com/a\t/b', /spaces/],
  ['https://api.example.com/a%', /invalid percent-encoding/],
  ['https://api.example.com/a%c0%af', /invalid percent-encoding/],
  ['https://api.example.com/a%25252525252e', /percent-encoding of/],
]

for (const [pattern, error] of refused) {
  test(`The pattern ${JSON.stringify(pattern)} is refused`, () => {
    const parsed = parseResourcePattern(pattern)
    assert.match('error' in parsed ? parsed.error : 'accepted', error)
    assert.equal(matchResource([pattern], pattern) === 'admitted', false)
  })
}

const reports = ['https://api.example.com/reports/*']
const exact = ['https://api.example.com/report']
const matches: readonly (readonly [patterns: readonly string[], url: string, match: string])[] = [
  [reports, 'https://api.example.com/reports/1', 'admitted'],
  [reports, 'https://api.example.com/reports/', 'admitted'],
  [reports, 'https://api.example.com/reports/2026/q1?format=pdf#page=2', 'admitted'],
  [reports, 'HTTPS://API.example.com.:443/reports/1', 'admitted'],
  [reports, 'https://api.example.com/%72eports/%7e1', 'admitted'],
  [reports, 'https://api.example.com/reports', 'not_admitted'],
  [reports, 'https://api.example.com/reports-2', 'not_admitted'],
  [reports, 'https://api.example.com/Reports/1', 'not_admitted'],
  [reports, 'http://api.example.com/reports/1', 'not_admitted'],
  [reports, 'https://api.example.com:8443/reports/1', 'not_admitted'],
  [reports, 'https://evil.example/reports/1', 'not_admitted'],
  [reports, 'https://sub.api.example.com/reports/1', 'not_admitted'],
  [reports, 'https://api.example.com//reports/1', 'not_admitted'],
  [reports, 'https://api.example.com/x?/reports/1', 'not_admitted'],
  [reports, 'https://api.example.com@evil.example/reports/1', 'unclear'],
  [reports, 'https://user@api.example.com/reports/1', 'unclear'],
  [reports, 'https://api.example.com/reports/../admin', 'unclear'],
  [reports, 'https://api.example.com/reports/%2e%2E/admin', 'unclear'],
  [reports, 'https://api.example.com/reports/..%2fadmin', 'unclear'],
  [reports, 'https://api.example.com/reports/%2e%2e%2fadmin', 'unclear'],
  [reports, 'https://api.example.com/reports/%252e%252e%252fadmin', 'unclear'],
  [reports, 'https://api.example.com/reports/a%2fb', 'unclear'],
  [reports, 'https://api.example.com/reports\\1', 'unclear'],
  [reports, 'https://api.example.com/reports/..;/admin', 'unclear'],
  [reports, 'https://api.example.com/reports/‥/admin', 'unclear'],
  [reports, 'https://api.example.com/reports/%EF%BC%8E%EF%BC%8E/admin', 'unclear'],
  [reports, 'https://api.example.com/reports/a\n', 'unclear'],
  [reports, 'not a URL', 'unclear'],
  [exact, 'https://api.example.com/report', 'admitted'],
  [exact, 'https://api.example.com/report?id=5', 'admitted'],
  [exact, 'https://api.example.com/report/', 'not_admitted'],
  [exact, 'https://api.example.com/report/5', 'not_admitted'],
  [['https://api.example.com/report*'], 'https://api.example.com/report', 'admitted'],
  [['https://api.example.com/report*'], 'https://api.example.com/reports/1', 'admitted'],
  [['https://api.example.com/report*'], 'https://api.example.com/repor', 'not_admitted'],
  [['https://api.example.com/*'], 'https://api.example.com', 'admitted'],
  [['https://api.example.com/'], 'https://api.example.com/', 'admitted'],
  [['https://api.example.com/'], 'https://api.example.com/a', 'not_admitted'],
  [['https://bücher.example/*'], 'https://xn--bcher-kva.example/a', 'admitted'],
  [['https://api.example.com/a%2A'], 'https://api.example.com/a*', 'admitted'],
  [['https://api.example.com/gr%c3%b6%c3%9fe'], 'https://api.example.com/größe', 'admitted'],
  [['http://127.0.0.1:8080/*'], 'http://127.0.0.1:8080/a', 'admitted'],
  [[...exact, ...reports], 'https://api.example.com/reports/1', 'admitted'],
]

for (const [patterns, url, match] of matches) {
  test(`${patterns.join(' and ')}: ${JSON.stringify(url)} is ${match.replace('_', ' ')}`, () => {
    assert.equal(matchResource(patterns, url), match)
  })
}

const decode = (text: string) => decodeURIComponent(text)
const joined = (path: string) => posix.join('/', path.replaceAll('\\', '/'))
const pathOf = (target: string) => target.split(/[?#]/)[0] ?? ''

/** How servers derive a path from a request target; all of these are in use. */
const readings: Readonly<Record<string, (target: string) => string>> = {
  'as it is': pathOf,
  'new URL(target, base)': (target) => new URL(target, 'http://localhost').pathname,
  'new URL(target, base), decoded': (target) => decode(new URL(target, 'http://localhost').pathname),
  'new URL(decoded target, base)': (target) => new URL(decode(target), 'http://localhost').pathname,
  'path.join, decoded path': (target) => joined(decode(pathOf(target))),
  'path.join, decoded twice': (target) => joined(decode(decode(pathOf(target)))),
  'path.join, then decoded': (target) => decode(joined(pathOf(target))),
  'slashes merged before dots': (target) => joined(pathOf(target).replace(/\/+/g, '/')),
  'parameters dropped': (target) => joined(decode(pathOf(target).replace(/;[^/]*/g, ''))),
  'compatible characters replaced': (target) => joined(decode(pathOf(target)).normalize('NFKC')),
  'cut off at a NUL': (target) => joined(decode(pathOf(target)).split('\0')[0] ?? ''),
}

test('A URL of very many dots takes about as long to match as another of its length', () => {
  const [plainMs, dottedMs] = [matchingMs('a'), matchingMs('.')]
  assert.ok(dottedMs < 50 * plainMs, `${dottedMs} ms, and ${plainMs} ms without dots`)
})

test('No URL is allowed if any common server reads it as a path outside the pattern', () => {
  const spellings = spellingsOf(
    ['/reports/2026/q1', '/reports/x', '/admin/reports/x', '/reports/'],
    20_000,
    20261124,
  )
  const random = seededRandom(20261124)
  const endings = [
    '',
    '/../../admin',
    '/%2e%2e%2fadmin',
    '/..%5c..%5cadmin',
    '/.%2e/%2e./admin',
    '//../../admin',
    '/..;/admin',
    '/%u002e',
  ] as const
  let admitted = 0
  for (const { target, host } of spellings) {
    const url = `https://${host}${target}${random.below(4) === 0 ? random.pick(endings) : ''}`
    if (matchResource(['https://shop.example/reports/*'], url) !== 'admitted') continue
    admitted += 1
    const parsed = new URL(url)
    assert.equal(parsed.hostname.replace(/\.$/, ''), 'shop.example', url)
    const raw = url.slice(url.indexOf('/', 'https://'.length))
    for (const sent of [raw, parsed.pathname + parsed.search]) {
      for (const [name, read] of Object.entries(readings)) {
        const path = attempt(() => read(sent))
        if (path !== undefined)
          assert.match(
            decode(path.replace(/%(?![0-9a-f]{2})/gi, '')),
            /^\/+reports(?:\/|$)/,
            `${name}: ${url}`,
          )
      }
    }
  }
  assert(admitted > 200, `${admitted} of ${spellings.length}`)
})

test('Every plain URL below a prefix is allowed, and so are spellings that decode to it', () => {
  const random = seededRandom(7)
  const characters = Array.from("abcXYZ019-._~!$&'()+,=:@äß漢") as unknown as readonly [string, ...string[]]
  for (let round = 0; round < 3_000; round++) {
    const segments = Array.from({ length: 1 + random.below(3) }, () =>
      `a${Array.from({ length: random.below(6) }, () => random.pick(characters)).join('')}`.normalize('NFKC'),
    )
    const path = segments.map((segment) => encodeURIComponent(segment)).join('/')
    const url = `https://shop.example/reports/${path}`
    assert.equal(matchResource(['https://shop.example/reports/*'], url), 'admitted', url)
    const spelled = url.replaceAll(/(?<=reports\/.*)[a-z]/g, (letter) =>
      random.below(3) === 0 ? `%${letter.charCodeAt(0).toString(16)}` : letter,
    )
    assert.equal(matchResource([url], spelled), matchResource([url], url), spelled)
  }
})

function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** How long it takes to match URLs that are filled with a character. */
function matchingMs(filler: string): number {
  const beganMs = performance.now()
  for (let count = 0; count < 200; count++) {
    matchResource(['https://shop.example/*'], `https://shop.example/${filler.repeat(2_000)}x${count}`)
  }
  return performance.now() - beganMs
}
