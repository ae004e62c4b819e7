import assert from 'node:assert/strict'
import { test } from 'node:test'

import { isForResource, readPublicUrl, resourceOf } from './resource.ts'

const publicUrl = readPublicUrl('https://api.example.com')

const targets: readonly [target: string, resource: string][] = [
  ['/data', 'https://api.example.com/data'],
  ['/data/', 'https://api.example.com/data/'],
  ['/data?b=2&a=1', 'https://api.example.com/data?b=2&a=1'],
  ['/data?', 'https://api.example.com/data?'],
  ['/d%61ta', 'https://api.example.com/d%61ta'],
  ['/a/../data', 'https://api.example.com/data'],
  ['//other.example/data', 'https://api.example.com//other.example/data'],
  ['/\\other.example/data', 'https://api.example.com//other.example/data'],
  ['http://other.example/data?x', 'https://api.example.com/data?x'],
  ['https://user:word@other.example:99/data', 'https://api.example.com/data'],
  ['http://other.example', 'https://api.example.com/'],
  ['http://other.example?x', 'https://api.example.com/?x'],
  ['*', 'https://api.example.com/'],
  ['@other.example/data', 'https://api.example.com/@other.example/data'],
  ['/data#x', 'https://api.example.com/data'],
]

for (const [target, resource] of targets) {
  test(`The target ${target} is the resource ${resource}, whatever host it contains`, () => {
    assert.equal(resourceOf(publicUrl, target), resource)
  })
}

test('A path that a proxy strips is part of the public URL', () => {
  for (const text of [
    'https://example.com/api',
    'https://example.com/api/',
    'HTTPS://Example.com:443/api//',
  ]) {
    assert.equal(resourceOf(readPublicUrl(text), '/data'), 'https://example.com/api/data')
  }
})

test('An invalid public URL is refused at startup', () => {
  for (const text of [
    'api.example.com',
    'ftp://a.example',
    'https://a.example/?x',
    'https://a.example/?',
    'https://a.example/#',
    'https://u@a.example',
    '',
  ]) {
    assert.throws(() => readPublicUrl(text), TypeError, text)
  }
})

const proofs: readonly [proofResource: string, isFor: boolean][] = [
  ['https://api.example.com/data', true],
  ['https://API.example.com:443/data', true],
  ['https://api.example.com/data#part', true],
  ['http://api.example.com/data', false],
  ['https://api.example.com:8443/data', false],
  ['https://api.example.com/data/', false],
  ['https://api.example.com/data?', false],
  ['https://api.example.com/Data', false],
  ['https://api.example.com/d%61ta', false],
  ['https://user@api.example.com/data', false],
  ['https://api.example.com.other.example/data', false],
  ['/data', false],
  ['', false],
]

for (const [proofResource, isFor] of proofs) {
  test(`A proof for "${proofResource}" is ${isFor ? '' : 'not '}for https://api.example.com/data`, () => {
    assert.equal(isForResource(proofResource, 'https://api.example.com/data'), isFor)
  })
}
