import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import fastify from 'fastify'

import { sendPlain, sendBytes } from '../../testing/http/plain-http.ts'
import { serveStaticFiles } from './static-files.ts'

const script = `console.log('${'x'.repeat(2_000)}')`
const firstPage =
  '<!doctype html><title>Console</title><script type="module" src="/console/assets/app-1.js"></script>'

const files: Readonly<Record<string, string>> = {
  'index.html': firstPage,
  'assets/app-1.js': script,
  'assets/app-1.css': 'body{}',
  'assets/app-1.js.map': '{"sources":[]}',
  'favicon.svg': '<svg/>',
  'licences/libraries.md': '# Licences',
  '.env': 'SECRET=1',
}

test('No console page allows inline code, frames or other sites', async (t) => {
  const url = await serve(t, files)
  for (const path of [
    '/console',
    '/console/',
    '/console/mandates/x',
    '/console/assets/app-1.js',
    '/console/assets/gone.js',
  ]) {
    const { headers } = await sendPlain(url, { method: 'GET', path })
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/, path)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.doesNotMatch(policy, /unsafe|https?:|\*/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['x-frame-options'], 'DENY')
  }
})

test('Files with a content hash are cached permanently, and the start page is revalidated each time', async (t) => {
  const url = await serve(t, files)
  const asset = await sendPlain(url, { method: 'GET', path: '/console/assets/app-1.js' })
  assert.deepEqual([asset.status, asset.text], [200, script])
  assert.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.equal(asset.headers['content-type'], 'text/javascript; charset=utf-8')
  const first = await sendPlain(url, { method: 'GET', path: '/console/' })
  assert.deepEqual([first.text, first.headers['cache-control']], [firstPage, 'no-cache'])
  const headers = { 'if-none-match': String(first.headers.etag) }
  assert.equal((await sendPlain(url, { method: 'GET', path: '/console/', headers })).status, 304)
})

test('Files are compressed for clients that accept it', async (t) => {
  const url = await serve(t, files)
  for (const [accepted, decode] of [
    ['gzip, deflate', gunzipSync],
    ['gzip, deflate, br', brotliDecompressSync],
  ] as const) {
    const answer = await fetchRaw(url, '/console/assets/app-1.js', accepted)
    assert.equal(decode(answer).toString(), script)
  }
})

test('A path of the app returns the start page, a missing asset does not, and no other file is served', async (t) => {
  const url = await serve(t, files)
  for (const path of ['/console/mandates', '/console/mandates/mandate_1?status=paused', '/console/set-up']) {
    assert.equal((await sendPlain(url, { method: 'GET', path })).text, firstPage, path)
  }
  const gone = await sendPlain(url, { method: 'GET', path: '/console/assets/app-0.js' })
  assert.equal(gone.status, 404)
  assert.match(String(gone.headers['content-type']), /^text\/html/)
  for (const path of [
    '/console/.env',
    '/console/assets/app-1.js.map',
    '/console/../package.json',
    '/console/%2e%2e/package.json',
    '/console/..%2fpackage.json',
  ]) {
    const said = await sendBytes(url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    assert.doesNotMatch(said, /SECRET|"sources"|"name"/, path)
  }
})

test("The licenses of the console's dependencies are served as text", async (t) => {
  const url = await serve(t, files)
  const { status, text, headers } = await sendPlain(url, {
    method: 'GET',
    path: '/console/licences/libraries.md',
  })
  assert.deepEqual([status, text], [200, '# Licences'])
  assert.equal(headers['content-type'], 'text/markdown; charset=utf-8')
})

test('If the console is not built, the page says how to build it', async (t) => {
  const url = await serve(t, {})
  const { status, text } = await sendPlain(url, { method: 'GET', path: '/console/' })
  assert.equal(status, 503)
  assert.match(text, /npm run build:console/)
})

async function serve(t: TestContext, contents: Readonly<Record<string, string>>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  mkdirSync(join(folder, 'assets'))
  mkdirSync(join(folder, 'licences'))
  for (const [name, text] of Object.entries(contents)) writeFileSync(join(folder, name), text)
  const app = fastify()
  serveStaticFiles(app, folder)
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(async () => {
    await app.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

/** The raw body: `fetch` would decompress it. */
async function fetchRaw(url: string, path: string, accepted: string): Promise<Buffer> {
  const { get } = await import('node:http')
  return new Promise((resolve, reject) => {
    get(url + path, { headers: { 'accept-encoding': accepted } }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('end', () => resolve(Buffer.concat(chunks)))
    }).on('error', reject)
  })
}
