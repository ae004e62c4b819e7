import assert from 'node:assert/strict'
import { test } from 'node:test'

import { AddressGuard, AddressRefusal, isPrivate } from './addresses.ts'

const guard = new AddressGuard(['localhost', '10.0.0.5:8443', '[::1]:9000'])

test('Private addresses are recognized in every notation', () => {
  const addresses = [
    '0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.255', '169.254.169.254', '172.31.0.1',
    '192.168.1.1', '198.18.0.1', '224.0.0.1', '255.255.255.255', '::', '::1', '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe', '64:ff9b::a9fe:a9fe', '2002:7f00:1::', 'fc00::1', 'fd12::1', 'fe80::1', 'fec0::1', 'ff02::1',
    '::127.0.0.1', '::7f00:1', '::ffff:0:7f00:1', '3fff::1', '5f00::1', '168.63.129.16', 'fe80::1%eth0',
  ] // oxfmt-ignore
  for (const address of addresses) assert.equal(isPrivate(address), true, address)
  for (const address of ['1.1.1.1', '172.32.0.1', '192.169.0.1', '2606:4700::1111', 'example.com']) {
    assert.equal(isPrivate(address), false, address)
  }
})

test('Only https URLs without credentials on the public internet are allowed', () => {
  const refused = [
    'http://example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'https://user:secret@example.com/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://169.254.169.254/latest/meta-data/',
    'https://10.0.0.5/',
    'http://10.0.0.5:8444/',
  ]
  for (const address of refused) {
    assert.throws(() => guard.check(new URL(address)), AddressRefusal, address)
  }
  const allowed = [
    'https://example.com/',
    'https://1.1.1.1/',
    'http://localhost:1234/',
    'https://10.0.0.5:8443/',
    'http://10.0.0.5:8443/',
    'http://[::1]:9000/',
  ]
  for (const address of allowed) assert.doesNotThrow(() => guard.check(new URL(address)), address)
})

/** The result of connecting to a URL. */
function lookUp(own: AddressGuard, address: string, name: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    own.lookupFor(new URL(address))(name, { all: true }, (error, found) => {
      if (error) reject(error)
      else resolve(found)
    })
  })
}

test('A private host that matches no URL is refused, instead of allowing nothing', () => {
  for (const host of [
    'http://localhost:3000',
    'localhost:3000,localhost:3001',
    '10.0.0.0/8',
    '*.local',
    '',
  ]) {
    assert.throws(() => new AddressGuard([host]), { name: 'PurserError', message: /such as localhost:3000/ })
  }
})

test('A public name that resolves to a private address is refused at connection time', async () => {
  // Every machine resolves this name without a DNS query.
  await assert.rejects(lookUp(guard, 'https://shop.example/', 'localhost'), AddressRefusal)
  assert.ok(Array.isArray(await lookUp(guard, 'http://localhost/', 'localhost')))
})
