import assert from 'node:assert/strict'
import { test } from 'node:test'

import { subjectOf } from './subjects.ts'

const same: readonly (readonly [spelling: string, url: string])[] = [
  ['an encoded letter', 'https://api.example.com/%64ata/a%2db'],
  ['lower-case percent-encoding', 'https://api.example.com/data/a-b?x=1#y'],
  ['a trailing dot of the host', 'https://api.example.com./data/a-b'],
  ['another case of the host, and the default port', 'HTTPS://API.Example.com:443/data/a-b'],
  ['dot segments', 'https://api.example.com/x/%2e%2e/data/./a-b'],
  ['a user name', 'https://agent:secret@api.example.com/data/a-b'],
]

for (const [spelling, url] of same) {
  test(`A resource with ${spelling} counts as the same resource`, () => {
    assert.equal(subjectOf('resource', url), 'resource:https://api.example.com/data/a-b')
    assert.equal(subjectOf('seller', url), 'seller:api.example.com')
  })
}

test('Resources that servers tell apart count apart', () => {
  const urls = ['/a%2Fb', '/a/b', '/a%252Fb', '/A/b', '/a/b/', '//a/b', '/%C3%A9', '/%25C3%A9']
  const subjects = urls.map((path) => subjectOf('resource', `https://api.example.com${path}`))
  assert.equal(new Set(subjects).size, urls.length)
  assert.equal(
    subjectOf('resource', 'https://api.example.com/a%2fb'),
    subjectOf('resource', 'https://api.example.com/a%2Fb'),
  )
  assert.notEqual(
    subjectOf('resource', 'https://api.example.com:8443/a'),
    subjectOf('resource', 'https://api.example.com/a'),
  )
})
