import {
  badUrl,
  badUuid,
  missing,
  notAmount,
  notObject,
  notText,
  notUrl,
  notUsdc,
  notUuid,
  notWeb,
  without,
  withoutZone,
} from './errors.ts'
import { vectorsOf, type Row } from './vector.ts'

const proofRequest = {
  agent_id: 'agent_1',
  mandate_id: 'mandate_1',
  amount: '1.00',
  currency: 'USDC',
  resource_url: 'https://api.example.com/data',
}

const noBase = badUrl('relative URL without a base')
const longestUrl = `https://example.com/${'a'.repeat(2063)}`

const proofRequestRows: Row[] = [
  ['v005', 'a whole request for a proof', {}],
  ['v353', 'an unknown field', { zzz: 1 }],

  [
    'v007',
    'an empty object',
    { '': {} },
    { agent_id: missing, mandate_id: missing, amount: missing, resource_url: missing },
  ],
  ['v008', 'a list for a body', { '': [] }, { '': notObject }],
  ['v106', 'no mandate_id', ...without('mandate_id')],
  ['v108', 'no resource_url', ...without('resource_url')],

  ['v220', 'resource_url has no scheme', { resource_url: 'api.example.com/data' }, { resource_url: noBase }],
  ['v221', 'resource_url is empty', { resource_url: '' }, { resource_url: badUrl('input is empty') }],
  ['v222', 'resource_url is a space', { resource_url: ' ' }, { resource_url: noBase }],
  ['v223', 'resource_url is a path', { resource_url: '/data' }, { resource_url: noBase }],
  [
    'v224',
    'resource_url leaves the scheme open',
    { resource_url: '//api.example.com' },
    { resource_url: noBase },
  ],
  [
    'v225',
    'resource_url is on an FTP server',
    { resource_url: 'ftp://example.com/x' },
    { resource_url: notWeb },
  ],
  ['v227', 'resource_url is a mailbox', { resource_url: 'mailto:a@example.com' }, { resource_url: notWeb }],
  [
    'v231',
    'half an IPv6 address',
    { resource_url: 'http://[::1' },
    { resource_url: badUrl('invalid IPv6 address') },
  ],
  [
    'v232',
    'an IPv4 address with 256',
    { resource_url: 'http://256.1.1.1' },
    { resource_url: badUrl('invalid IPv4 address') },
  ],
  [
    'v234',
    'punycode of nothing',
    { resource_url: 'https://xn--/' },
    { resource_url: badUrl('invalid international domain name') },
  ],
  ['v235', 'resource_url is a number', { resource_url: 1 }, { resource_url: notUrl }],
  ['v236', 'resource_url is null', { resource_url: null }, { resource_url: notUrl }],
  ['v237', 'resource_url is a list', { resource_url: [] }, { resource_url: notUrl }],
  ['v238', 'resource_url is an object', { resource_url: {} }, { resource_url: notUrl }],
  ['v241', 'one slash after the scheme', { resource_url: 'https:/example.com' }],
  ['v243', 'spaces around resource_url', { resource_url: ' https://example.com ' }],
  ['v245', 'an international domain name', { resource_url: 'https://☃.com' }],
  ['v246', 'a space in the path', { resource_url: 'https://example.com/a b' }],
  ['v247', 'the longest resource_url', { resource_url: longestUrl }],

  ['v301', 'amount is a word', { amount: 'abc' }, { amount: notAmount }],
  ['v305', 'amount has an exponent', { amount: '1e3' }, { amount: notAmount }],
  ['v306', 'amount has a comma', { amount: '1,000.00' }, { amount: notAmount }],
  ['v308', 'amount ends its line', { amount: '1.00\n' }, { amount: notAmount }],
  ['v309', 'amount ends in a point', { amount: '1.' }, { amount: notAmount }],
  ['v311', 'amount is a number', { amount: 1 }, { amount: notText }],
  ['v313', 'amount is null', { amount: null }, { amount: notText }],

  ['v338', 'another currency', { currency: 'EUR' }, { currency: notUsdc }],
  ['v341', 'currency is a number', { currency: 1 }, { currency: notUsdc }],
  ['v342', 'currency is a list', { currency: ['USDC'] }, { currency: notUsdc }],
]

const verifyRequest = {
  proof: {
    scheme: 'svc-sandbox',
    network: 'sandbox',
    agentId: 'agent_1',
    mandateId: 'mandate_1',
    amount: '1.00',
    currency: 'USDC',
    resource: 'https://api.example.com/data',
    nonce: '7f8d1c1e-6a1f-4d57-9c1e-2f4f1b3a9c55',
    timestamp: '2026-01-01T00:00:00+00:00',
    signature: 'ab12',
  },
  merchant_domain: 'api.example.com',
  expected_amount: '1.00',
  expected_currency: 'USDC',
}

const verifyRows: Row[] = [
  ['v009', 'a whole request to verify', {}],

  [
    'v011',
    'an empty object',
    { '': {} },
    { proof: missing, merchant_domain: missing, expected_amount: missing },
  ],
  ['v109', 'no proof', ...without('proof')],
  ['v110', 'no merchant_domain', ...without('merchant_domain')],
  ['v128', 'no network in the proof', ...without('proof.network')],
  ['v129', 'no agentId in the proof', ...without('proof.agentId')],
  ['v130', 'no mandateId in the proof', ...without('proof.mandateId')],
  ['v131', 'no amount in the proof', ...without('proof.amount')],
  ['v132', 'no currency in the proof', ...without('proof.currency')],
  ['v133', 'no resource in the proof', ...without('proof.resource')],
  ['v135', 'no timestamp in the proof', ...without('proof.timestamp')],
  ['v136', 'no signature in the proof', ...without('proof.signature')],

  ['v155', 'merchant_domain is a number', { merchant_domain: 5 }, { merchant_domain: notText }],
  ['v181', 'proof is null', { proof: null }, { proof: notObject }],
  [
    'v216',
    'timestamp has no zone',
    { 'proof.timestamp': '2026-01-01T00:00:00' },
    { 'proof.timestamp': withoutZone },
  ],
  [
    'v251',
    'nonce is a phrase',
    { 'proof.nonce': 'not-a-uuid' },
    { 'proof.nonce': badUuid('invalid character: found `n` at 1') },
  ],
  [
    'v252',
    'nonce is three digits long',
    { 'proof.nonce': 'abc' },
    { 'proof.nonce': badUuid('invalid length: expected length 32 for simple format, found 3') },
  ],
  [
    'v258',
    'nonce without its first hyphen',
    { 'proof.nonce': '7f8d1c1e6a1f-4d57-9c1e-2f4f1b3a9c55' },
    { 'proof.nonce': badUuid('invalid group count: expected 5, found 4') },
  ],
  [
    'v259',
    'nonce with its first hyphen too early',
    { 'proof.nonce': '7f8d1c1-e6a1f-4d57-9c1e-2f4f1b3a9c55' },
    { 'proof.nonce': badUuid('invalid group length in group 0: expected 8, found 7') },
  ],
  ['v262', 'nonce is null', { 'proof.nonce': null }, { 'proof.nonce': notUuid }],
  ['v316', 'expected_amount is a word', { expected_amount: 'ten' }, { expected_amount: notAmount }],
  ['v317', 'amount in the proof is a word', { 'proof.amount': 'ten' }, { 'proof.amount': notAmount }],
]

export const paymentVectors = [
  ...vectorsOf({ method: 'POST', path: '/v1/payments/proof', success: 201 }, proofRequest, proofRequestRows),
  ...vectorsOf({ method: 'POST', path: '/v1/payments/verify', success: 200 }, verifyRequest, verifyRows),
]
