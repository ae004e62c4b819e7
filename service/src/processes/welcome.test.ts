import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'

import { readConfig } from '../settings/config.ts'
import { welcome } from './welcome.ts'

for (const [host, listening, reached] of [
  ['127.0.0.1', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['0.0.0.0', 'http://0.0.0.0:8080', 'http://127.0.0.1:8080'],
  ['::', 'http://[::]:8080', 'http://[::1]:8080'],
] as const) {
  test(`On the address ${host}, every link that is printed opens in a browser of this machine`, () => {
    const reading = readConfig([], { PURSER_HOST: host }, tmpdir())
    assert.ok('config' in reading)
    const minted = { sandbox: 'svc_sand_a', production: 'svc_prod_a', setUpToken: 'acct_a.b' }
    const text = welcome({ url: listening, minted, metricsUrl: undefined }, reading.config, 'purser')
    const [ready, ...links] = text.match(/http:\/\/\S+?:8080/g) ?? []
    assert.equal(ready, listening)
    assert.deepEqual([...new Set(links)], [reached])
  })
}

test('A later start names the command for lost keys as it was called', () => {
  const reading = readConfig([], {}, tmpdir())
  assert.ok('config' in reading)
  const service = { url: 'http://127.0.0.1:8080', minted: undefined, metricsUrl: undefined }
  for (const calledAs of ['purser', 'npx purser']) {
    assert.ok(welcome(service, reading.config, calledAs).includes(` lost: ${calledAs} keys issue --operator`))
  }
})
