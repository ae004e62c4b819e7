import assert from 'node:assert/strict'
import { test } from 'node:test'

import { sellerWarning } from './client.ts'

test('A domain in any spelling is a seller, and so is * for all', () => {
  const domains = ['*', 'api.example.com', 'API.Example.com.', 'bücher.example', 'my_host.example']
  for (const entry of [...domains, 'localhost', '127.0.0.1', '[::1]'])
    assert.equal(sellerWarning(entry), undefined, entry)
})

test('A URL is not a seller, and the warning suggests its host; other text is not a seller either', () => {
  const rows: [entry: string, meant: string | undefined][] = [
    ['https://api.example.com', 'api.example.com'],
    ['https://API.example.com./data?a=b', 'api.example.com'],
    ['HTTP:/api.example.com', 'api.example.com'],
    ['//api.example.com/data', 'api.example.com'],
    ['api.example.com/data', 'api.example.com'],
    ['api.example.com:8443', 'api.example.com'],
    ['ada@example.com', 'example.com'],
    ['http://[::1]:8080/', '[::1]'],
    ['https://bücher.example', 'xn--bcher-kva.example'],
    ['https://', undefined],
    ['*.example.com', undefined],
    ['https://*.example.com', undefined],
    ['two words', undefined],
    ['', undefined],
  ]
  for (const [entry, meant] of rows) {
    const warning = sellerWarning(entry) ?? ''
    assert.ok(warning.startsWith(`${entry} is `), warning)
    assert.equal(/Did you mean (.*)\?$/.exec(warning)?.[1], meant, entry)
  }
})
