import assert from 'node:assert/strict'
import { Resolver } from 'node:dns/promises'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'

import {
  dnsServer,
  provenDomain as domain,
  proverOf,
  tlsServer,
  type Zone,
} from '../testing/http/domain-servers.ts'
import { challengeFor, deriveVerificationKey } from './domain/seller-verification.ts'
import { createDomainProver, isPublicAddress } from './prove-domain.ts'

const challenge = challengeFor(
  deriveVerificationKey('a'.repeat(32)),
  { accountId: 'acct_one', environment: 'sandbox' },
  domain,
)

test('A TXT record proves a domain, and a different text does not', async (context) => {
  const zone: Zone = { txt: { [challenge.recordName]: ['v=spf1 -all', challenge.text] } }
  const proved = await proverOf(context, zone)
  assert.equal(await proved(domain, challenge), 'proved')
  const foreign = challengeFor(Buffer.alloc(32), { accountId: 'acct_two', environment: 'sandbox' }, domain)
  assert.deepEqual(await proved(domain, foreign), {
    missing: 'no TXT record has the text, and shop.example has no address in DNS',
  })
})

const files: readonly { name: string; answer: RequestListener; outcome: 'proved' | RegExp }[] = [
  {
    name: 'a file with the text',
    answer: (_, to) => to.end(`# ours\n${challenge.text}\n`),
    outcome: 'proved',
  },
  {
    name: 'a file without it',
    answer: (_, to) => to.end('hello'),
    outcome: /no line of the file is the text$/,
  },
  {
    name: 'a redirect',
    answer: (_, to) => to.writeHead(302, { location: 'https://127.0.0.1/' }).end(),
    outcome: /the file was answered 302; redirects are not followed$/,
  },
  {
    name: 'a switch to another protocol',
    answer: (_, to) => to.writeHead(101, { connection: 'upgrade', upgrade: 'websocket' }).end(challenge.text),
    outcome: /the file was answered 101; redirects are not followed$/,
  },
  {
    name: 'a file that never ends',
    answer: (_, to) => to.end('x'.repeat(100_000)),
    outcome: /the file has more than 4096 bytes$/,
  },
]
for (const { name, answer, outcome } of files) {
  test(`${name} is ${outcome === 'proved' ? 'a proof' : 'no proof'}`, async (context) => {
    const asked: string[] = []
    const prove = await proverOf(context, { a: { [domain]: '127.0.0.1' } }, (request, to) => {
      asked.push(`${request.method} ${request.headers.host}${request.url}`)
      answer(request, to)
    })
    const found = await prove(domain, challenge)
    if (outcome === 'proved') assert.equal(found, 'proved')
    else assert.match(typeof found === 'object' ? found.missing : found, outcome)
    assert.deepEqual(asked, [`GET ${domain}/.well-known/purser-verification`])
  })
}

test('A domain with a non-public address is never contacted', async (context) => {
  const asked: string[] = []
  const server = await tlsServer(context, (request, to) => {
    asked.push(request.url ?? '')
    to.end(challenge.text)
  })
  const resolver = await dnsServer(context, { a: { [domain]: '127.0.0.1' } })
  const prove = createDomainProver({ resolver, connection: server })
  assert.deepEqual(await prove(domain, challenge), {
    missing: 'there is no TXT record, and shop.example has an address that is not public',
  })
  assert.deepEqual(asked, [])
})

test('If DNS does not answer, the reason says so', async () => {
  const resolver = new Resolver({ timeout: 1_000, tries: 1 })
  // Nothing answers DNS there.
  resolver.setServers(['127.0.0.1:1'])
  const missing =
    'the TXT record could not be looked up (ECONNREFUSED), and the address of shop.example could not be looked up (ECONNREFUSED)'
  assert.deepEqual(await createDomainProver({ resolver })(domain, challenge), { missing })
})

test('A certificate for another name is no proof', async (context) => {
  const prove = await proverOf(context, { a: { 'other.example': '127.0.0.1' } }, (_, to) =>
    to.end(challenge.text),
  )
  const found = await prove('other.example', { ...challenge, fileUrl: 'https://other.example/x' })
  assert.match(typeof found === 'object' ? found.missing : found, /ERR_TLS_CERT_ALTNAME_INVALID/)
})

test('Only public internet addresses are accepted', () => {
  const inside = [
    '127.0.0.1',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '168.63.129.16',
    '192.0.0.192',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:169.254.169.254',
    'fe80::1',
    'fd00:ec2::254',
    'ff02::1',
    '64:ff9b::a9fe:a9fe',
    '2002:7f00:1::',
    '::127.0.0.1',
    '::a9fe:a9fe',
    '::ffff:0:7f00:1',
    'localhost',
    '',
  ]
  assert.deepEqual(inside.filter(isPublicAddress), [])
  assert.deepEqual(['93.184.216.34', '2606:2800:220:1::1'].map(isPublicAddress), [true, true])
})
