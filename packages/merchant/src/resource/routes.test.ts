import assert from 'node:assert/strict'
import { test } from 'node:test'

import { compileRoutes } from './routes.ts'

/** The name of the entry that prices a request; `free` or `ambiguous` otherwise. */
function finder(table: Readonly<Record<string, string>>, publicPath?: string) {
  const find = compileRoutes(table, publicPath)
  return (method: string, target: string, place: { rewritten?: string; mount?: string } = {}) => {
    const { rewritten = target, mount } = place
    const finding = find({ method, targets: [target, rewritten], mount })
    return finding.outcome === 'found' ? finding.route : finding.outcome
  }
}

const find = finder({
  'GET /data': 'data',
  'POST /reports/:id': 'report',
  '/files/*': 'file',
  'GET /people/:name/photo': 'photo',
})

const cases: readonly [method: string, target: string, found: string][] = [
  ['GET', '/data', 'data'],
  ['HEAD', '/data', 'data'],
  ['POST', '/data', 'free'],
  // HTTP/2 has such methods, and Express treats them alike.
  ['get', '/data', 'data'],
  ['Head', '/data', 'data'],
  ['GET', '/data?free=1', 'data'],
  ['GET', '/data/', 'data'],
  ['GET', '//data', 'data'],
  ['GET', '/DATA', 'data'],
  ['GET', '/d%61ta', 'data'],
  ['GET', '/data;v=1', 'data'],
  ['GET', '/data;v=1/more', 'data'],
  ['GET', 'http://other.example/data', 'data'],
  ['GET', '/./data', 'data'],
  ['GET', '/x/../data', 'data'],
  ['GET', '/x//../data', 'data'],
  ['GET', '/x/%2E%2e/data', 'data'],
  ['GET', '/x%2f..%2Fdata', 'data'],
  ['GET', '/x\\..\\data', 'data'],
  ['GET', '/x;/../data', 'data'],
  ['GET', '/../data/.', 'data'],
  ['GET', '/data/more/..', 'data'],
  ['GET', '/more/../data/more', 'free'],
  ['DELETE', '/x/../files/a/../b', 'file'],
  ['GET', '/data/more', 'free'],
  ['GET', '/', 'free'],
  ['POST', '/reports/7', 'report'],
  ['POST', '/reports/7%2F8', 'report'],
  ['POST', '/%72eports/7%2F8', 'report'],
  ['POST', '/reports/%', 'report'],
  ['POST', '/reports/', 'report'],
  ['POST', '/reports/7/8', 'free'],
  ['DELETE', '/files/a/b', 'file'],
  ['GET', '/files', 'file'],
  ['GET', '/filesystem', 'free'],
  ['GET', '/people/jo/photo', 'photo'],
  // Interpretations by `new URL(target, base)`.
  ['GET', '//x/data', 'data'],
  ['GET', '///x/data', 'data'],
  ['GET', '/\\x/data', 'data'],
  ['GET', '//@x/data', 'data'],
  ['GET', '/%5Cx/data', 'data'],
  ['GET', '/da%09ta', 'data'],
  ['GET', '/data%20', 'data'],
  ['GET', 'http:///x/data', 'data'],
  // Interpretations after decoding once or twice.
  ['GET', '/%2564ata', 'data'],
  ['GET', '/data%3Fx', 'data'],
  ['GET', '/data%23x/y', 'data'],
  // Characters that file servers ignore.
  ['GET', '/free?/../data', 'data'],
  ['GET', '/free%3f/%2e%2E/data', 'data'],
  ['GET', '/free#\\..\\data', 'data'],
  ['GET', '/data.', 'data'],
  ['GET', '/x;y/../data', 'data'],
  ['GET', '/;x/data', 'data'],
  ['GET', '*/../data', 'data'],
  ['POST', '/reports', 'free'],
  // A query may contain any path.
  ['GET', '/sign-in?next=/data', 'free'],
  ['GET', '/sign-in?next=%2Fdata', 'free'],
  ['GET', '/proxy/https://example.com/data', 'free'],
  ['GET', '*', 'free'],
]

for (const [method, target, found] of cases) {
  test(`In a table of routes, ${method} ${target} is ${found}`, () => {
    assert.equal(find(method, target), found)
  })
}

const menu = finder({
  'GET /reports/sample': 'sample',
  'GET /reports/:id': 'report',
  'GET /menu': 'menu',
  'GET /:id': 'page',
})

const doubtful: readonly [target: string, found: string][] = [
  ['/reports/sample', 'sample'],
  ['/reports/other', 'report'],
  ['/menu', 'menu'],
  ['/menu?page=2', 'menu'],
  ['/other', 'page'],
  // A case-sensitive router sells a report here, another one the sample.
  ['/reports/Sample', 'ambiguous'],
  ['/reports/sample;x', 'ambiguous'],
  ['/reports/%2573ample', 'ambiguous'],
  ['/reports/', 'ambiguous'],
  ['/reports/other/../sample', 'sample'],
  ['/menu/../other', 'page'],
  ['//menu/reports/other', 'report'],
  ['//menu/other', 'page'],
  ['/x;/../menu', 'ambiguous'],
  ['/menu;/../other', 'ambiguous'],
  // No legitimate request has such a target.
  [`/${'%2525252541;\\..//'.repeat(40)}`, 'ambiguous'],
]

for (const [target, found] of doubtful) {
  test(`With similar priced routes, ${target.slice(0, 60)} is ${found}`, () => {
    assert.equal(menu('GET', target), found)
  })
}

test('The root does not match a parameter if it has its own entry', () => {
  assert.equal(finder({ 'GET /': 'home', 'GET /:id': 'page' })('GET', '/'), 'home')
  assert.equal(finder({ 'GET /:id': 'page' })('GET', '/'), 'page')
})

// In quadratic time, these would take many minutes.
for (const mark of ['?', '#', '%23']) {
  test(`A target with a million "${mark}" is read in linear time`, () => {
    const find = compileRoutes({ 'GET /report': 'report' })
    const target = `/${mark.repeat(1_000_000)}`
    assert.notEqual(find({ method: 'GET', targets: [target] }).outcome, 'found')
  })
}

test('Below a mount and a public path, routes may include or omit them', () => {
  const rows: readonly [table: string, publicPath: string, target: string, place: object, found: string][] = [
    ['GET /data', '', '/shop/data', { rewritten: '/data' }, 'paid'],
    ['GET /data', '', '/shop/data', { mount: '/shop' }, 'paid'],
    ['GET /data', '', '/SHOP//data', { mount: '/shop' }, 'paid'],
    ['GET /data', '', '/7/shop/data', { mount: '/:tenant/shop/' }, 'paid'],
    ['GET /shop/data', '', '/shop/data', { rewritten: '/data' }, 'paid'],
    ['GET /shop/data', '', '/shop/data', { mount: '/shop' }, 'paid'],
    ['GET /shop/data', '/shop', '/data', {}, 'paid'],
    ['GET /data', '/shop', '/shop/data', {}, 'paid'],
    ['GET /data', '/shop', '/data', {}, 'paid'],
    ['GET /data', '', '/shop/data', {}, 'free'],
    ['GET /data', '', '/shop/data', { mount: '/' }, 'free'],
    ['GET /data', '', '/shop/other/data', { mount: '/shop' }, 'free'],
  ]
  for (const [table, publicPath, target, place, found] of rows) {
    const find = finder({ [table]: 'paid' }, publicPath)
    assert.equal(find('GET', target, place), found, JSON.stringify([table, publicPath, target, place]))
  }
})

const wrongPatterns = [
  ['data', 'get /data', '/a/*/b', '/a*b', 'GET  data', '', '/a b', ' /a', 'GET', 'http://x.com/a'],
  // Patterns of other routers would match nothing here, and their goods would be free.
  ['/a*', '/:a*', '/:a+', '/**', '/*a', '/:a(.+)', '/:a?', '/{:a}', '/[a]', '/{a}', '/:a{.+}', '/:a|b'],
  ['/a?b=1', '/a#b', '/a/../b', '/./a', '/%2e%2E/a', '/a\\b'],
  ['ALL /a', 'GTE /a', 'HEAD /a', 'CONNECT /a', 'GET,POST /a', 'GET|POST /a', '* /a'],
].flat()

for (const pattern of wrongPatterns) {
  test(`The pattern "${pattern}", which could match nothing, is refused at startup`, () => {
    const told = /^A route must (look like|have a method).*, not ".*"$/
    assert.throws(
      () => compileRoutes({ [pattern]: '' }),
      (error) => error instanceof TypeError && told.test(error.message),
    )
  })
}

const hiddenRoutes: readonly [early: string, late: string, isHidden: boolean][] = [
  ['GET /reports/:id', 'GET /reports/free', true],
  ['/reports/:id', 'GET /reports/:name', true],
  ['/*', 'GET /data', true],
  ['/data/*', '/data', true],
  ['/data/*', '/data/:id/*', true],
  ['GET /data', 'GET /DATA/', true],
  ['GET /reports/free', 'GET /reports/:id', false],
  ['GET /data', '/data', false],
  ['GET /data', 'POST /data', false],
  ['/data/:id', '/data/*', false],
  ['/data/:id/*', '/data/*', false],
  ['/data', '/data/*', false],
  ['/:id', '/', false],
]

for (const [early, late, isHidden] of hiddenRoutes) {
  test(`After "${early}", "${late}" is ${isHidden ? 'unreachable' : 'reachable'}`, () => {
    const compile = () => compileRoutes({ [early]: 1, [late]: 2 })
    if (!isHidden) return assert.doesNotThrow(compile)
    const message = `The route "${late}" is unreachable after "${early}", which matches all of its requests: put it first, or remove it`
    return assert.throws(compile, new TypeError(message))
  })
}

test('Non-ASCII and encoded letters, and colons and dots within a segment, are allowed', () => {
  const requests = {
    '/données': '/donn%C3%A9es',
    '/a%5Bb%5D': '/a[b]',
    '/v1/things:batch': '/v1/things:batch',
    '/a.b/...': '/a.b/...',
    '/(a)': '/(a)',
    '/a+b;c,d=e': '/a+b;c,d=e',
    '/x/y/*': '/x/y/z/a',
    '/': '/',
    '/range/:from-:to': '/range/a-b',
  }
  const find = finder(Object.fromEntries(Object.keys(requests).map((path) => [`GET ${path}`, path])))
  for (const [path, target] of Object.entries(requests)) assert.equal(find('GET', target), path)
})
