import assert from 'node:assert/strict'
import { test } from 'node:test'

import { normalizeHostName } from '../../../service/src/domain/host-name.ts'
import { hostNameOf, isHostOrParent } from './host-names.ts'

test('A domain is compared as the service compares it', () => {
  for (const [domain, name] of [
    ['api.example.com', 'api.example.com'],
    ['API.Example.com.', 'api.example.com'],
    ['Bücher.example', 'xn--bcher-kva.example'],
    ['bücher.example.', 'xn--bcher-kva.example'],
    ['shop。example', 'shop.example'],
    ['localhost', 'localhost'],
    ['127.0.0.1', '127.0.0.1'],
    ['[::1]', '[::1]'],
    ['Example.com/Path', 'example.com/path'],
    ['shop.example@Example.com', 'shop.example@example.com'],
    ['ex%61mple.com', 'ex%61mple.com'],
    ['two words', 'two words'],
    ['example.com:443', 'example.com:443'],
    ['*', '*'],
    ['', ''],
  ] as const) {
    assert.equal(hostNameOf(domain), name)
    assert.equal(normalizeHostName(domain), name, 'the service returns the same')
  }
})

test('Single labels, numbers and invalid host names have no subdomains', () => {
  for (const [domain, host, is] of [
    ['example.com', 'api.example.com', true],
    ['Example.com.', 'API.example.com', true],
    ['example.com', 'example.com.', true],
    ['example.com', 'notexample.com', false],
    ['com', 'example.com', false],
    ['0.0.1', '127.0.0.1', false],
    ['x/.example.com', 'a.example.com', false],
    ['', 'example.com', false],
  ] as const) {
    assert.equal(isHostOrParent(domain, host), is, `${domain} ${host}`)
  }
})
