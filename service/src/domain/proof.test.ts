import assert from 'node:assert/strict'
import { createHmac, hkdfSync } from 'node:crypto'
import { test } from 'node:test'

import type { Proof } from '@purser/wire/payments'

import { seededRandom } from '../../testing/seeded-random.ts'
import {
  checkProof,
  checkProofContent,
  deriveProofKeys,
  holdGraceMs,
  signProof,
  validityWindowMs,
  type UnsignedProof,
} from './proof.ts'

const nowMs = Date.UTC(2026, 10, 20, 12)
const secret = 'a-secret-of-more-than-thirty-two-bytes'
const nextSecret = 'the-next-secret-of-more-than-32-bytes!'
const keys = deriveProofKeys([secret], 'sandbox')

const unsigned: UnsignedProof = {
  scheme: 'svc-sandbox',
  network: 'sandbox',
  agentId: 'agent_01jd4q0000000000000000000a',
  mandateId: 'mandate_01jd4q0000000000000000000b',
  amount: '10.00',
  currency: 'USDC',
  resource: 'https://api.example.com/data',
  nonce: '01934b80-0000-7000-8000-000000000000',
  timestamp: '2026-11-20T12:00:00.000+00:00',
}
const proof = signProof(unsigned, keys)
const expected = { amount: '10.00', currency: 'USDC' }

test('A signed proof passes steps 1 to 3 [verify.step.1] [verify.step.2] [verify.step.3]', () => {
  assert.equal(checkProof(proof, expected, keys, nowMs), undefined)
  assert.equal(checkProofContent(proof, expected, keys), undefined)
})

test('The signature is the HMAC-SHA256 of the canonical proof without it, in lower-case hex [proof.signature]', () => {
  const bytes =
    '{"agentId":"agent_01jd4q0000000000000000000a","amount":"10.00","currency":"USDC",' +
    '"mandateId":"mandate_01jd4q0000000000000000000b","network":"sandbox",' +
    '"nonce":"01934b80-0000-7000-8000-000000000000","resource":"https://api.example.com/data",' +
    '"scheme":"svc-sandbox","timestamp":"2026-11-20T12:00:00.000+00:00"}'
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'purser/proof/sandbox', 32))
  assert.equal(proof.signature, createHmac('sha256', key).update(bytes).digest('hex'))
  assert.match(proof.signature, /^[0-9a-f]{64}$/)
  const { signature: _, ...rest } = proof
  assert.deepEqual(rest, unsigned, 'signing changes nothing else')
})

test('The fields may come in any order [verify.step.3]', () => {
  const shuffled = Object.fromEntries(Object.entries(proof).toReversed()) as Proof
  assert.equal(checkProof(shuffled, expected, keys, nowMs), undefined)
})

/** Steps 1 and 2 check these fields and pass: only the signature fails. */
const stillPlausible: Record<string, string> = {
  timestamp: '2026-11-20T12:00:00.001+00:00',
  amount: '10.01',
  currency: 'USDT',
}
for (const field of Object.keys(unsigned) as (keyof UnsignedProof)[]) {
  const changed = { ...proof, [field]: stillPlausible[field] ?? `${unsigned[field]}x` }
  const agreeing = { amount: changed.amount, currency: changed.currency }
  test(`A proof whose ${field} was changed is invalid_signature [verify.step.3]`, () => {
    assert.equal(checkProof(changed, agreeing, keys, nowMs), 'invalid_signature')
  })
  test(`A proof without its ${field} is invalid_signature [verify.step.3]`, () => {
    const { [field]: _, ...rest } = proof
    assert.equal(checkProofContent(rest as Proof, rest as Proof, keys), 'invalid_signature')
  })
}

const additions: readonly (readonly [name: string, json: string])[] = [
  ['a text', '"note":"hello"'],
  ['null', '"note":null'],
  ['an empty object', '"note":{}'],
  ['a key __proto__', '"__proto__":{"amount":"0.01"}'],
  ['a value nested too deeply to be signed', `"note":${'['.repeat(100)}${']'.repeat(100)}`],
]
for (const [name, json] of additions) {
  test(`An added field, ${name}, is invalid_signature [verify.step.3]`, () => {
    const added = JSON.parse(`${JSON.stringify(proof).slice(0, -1)},${json}}`) as Proof
    assert.equal(checkProof(added, expected, keys, nowMs), 'invalid_signature')
  })
}

test('Every field of a proof is signed, so a proof with additional fields is verified as signed', () => {
  const withNote = signProof(
    { ...unsigned, note: { text: 'é', list: [1, true, null] } } as UnsignedProof,
    keys,
  )
  assert.equal(checkProof(withNote, expected, keys, nowMs), undefined)
  assert.equal(
    checkProof({ ...withNote, note: { text: 'e' } } as Proof, expected, keys, nowMs),
    'invalid_signature',
  )
})

test('Values that cannot be signed throw, because only a bug can cause that', () => {
  assert.throws(() => signProof({ ...unsigned, bad: Number.NaN } as UnsignedProof, keys), TypeError)
})

const signatures: readonly (readonly [name: string, signature: string])[] = [
  ['upper-case', proof.signature.toUpperCase()],
  ['empty', ''],
  ['a character short', proof.signature.slice(0, -1)],
  ['a character long', `${proof.signature}0`],
  ['with a space', `${proof.signature} `],
  ['with a prefix', `sha256=${proof.signature}`],
  ['with as many characters but more bytes', `${proof.signature.slice(0, -1)}é`],
  ['with as many bytes but fewer characters', `${proof.signature.slice(0, -2)}é`],
  ['of zeros', '0'.repeat(64)],
  ['in base64', Buffer.from(proof.signature, 'hex').toString('base64')],
]
for (const [name, signature] of signatures) {
  test(`A signature ${name} is invalid_signature [verify.step.3]`, () => {
    assert.equal(checkProof({ ...proof, signature }, expected, keys, nowMs), 'invalid_signature')
  })
}

test('A signature with any one digit changed is invalid_signature [verify.step.3]', () => {
  for (const [index, digit] of proof.signature.split('').entries()) {
    const other = digit === '0' ? '1' : '0'
    const signature = proof.signature.slice(0, index) + other + proof.signature.slice(index + 1)
    assert.equal(checkProof({ ...proof, signature }, expected, keys, nowMs), 'invalid_signature')
  }
})

test('Of several secrets the first signs and all verify', () => {
  const rotated = deriveProofKeys([nextSecret, secret], 'sandbox')
  assert.equal(checkProof(proof, expected, rotated, nowMs), undefined, 'the old secret still verifies')
  const next = signProof(unsigned, rotated)
  assert.equal(next.signature, signProof(unsigned, deriveProofKeys([nextSecret], 'sandbox')).signature)
  assert.notEqual(next.signature, proof.signature)
  assert.equal(checkProof(next, expected, rotated, nowMs), undefined)
  assert.equal(checkProof(next, expected, keys, nowMs), 'invalid_signature', 'the old set does not know it')
  const afterRotation = deriveProofKeys([nextSecret], 'sandbox')
  assert.equal(checkProof(proof, expected, afterRotation, nowMs), 'invalid_signature')
})

test('A key of one environment is useless in the other', () => {
  const production = deriveProofKeys([secret], 'production')
  assert.equal(checkProof(proof, expected, production, nowMs), 'invalid_signature')
  assert.equal(checkProof(signProof(unsigned, production), expected, keys, nowMs), 'invalid_signature')
})

const ages: readonly (readonly [ageMs: number, outcome: 'proof_expired' | undefined])[] = [
  [0, undefined],
  [validityWindowMs - 1, undefined],
  [validityWindowMs, undefined],
  [validityWindowMs + 1, 'proof_expired'],
  [-validityWindowMs, undefined],
  [-validityWindowMs - 1, 'proof_expired'],
  [365 * 86_400_000, 'proof_expired'],
  [-365 * 86_400_000, 'proof_expired'],
  [Number.NaN, 'proof_expired'],
]
for (const [ageMs, outcome] of ages) {
  const verdict = outcome ? 'is proof_expired' : 'is within 5 minutes'
  test(`A proof of ${ageMs} ms ${verdict} [verify.step.1] [limits.window]`, () => {
    assert.equal(checkProof(proof, expected, keys, nowMs + ageMs), outcome)
  })
}

test('The window is 5 minutes, and a hold outlives it by 60 s [limits.window]', () => {
  assert.equal(validityWindowMs, 300_000)
  assert.equal(holdGraceMs, 60_000)
})

for (const timestamp of ['', 'yesterday', 'NaN', '2026-13-45T99:00:00Z', '+275760-09-13T00:00:00.001Z']) {
  test(`The timestamp ${JSON.stringify(timestamp)} is invalid and therefore proof_expired, even if signed [verify.step.1]`, () => {
    assert.equal(
      checkProof(signProof({ ...unsigned, timestamp }, keys), expected, keys, nowMs),
      'proof_expired',
    )
  })
}

test('A timestamp is compared as an instant, whatever its offset [verify.step.1] [proof.timestamp]', () => {
  for (const timestamp of [
    '2026-11-20T14:00:00+02:00',
    '2026-11-20T12:00:00Z',
    '2026-11-20T00:00:00.000-12:00',
  ]) {
    assert.equal(checkProof(signProof({ ...unsigned, timestamp }, keys), expected, keys, nowMs), undefined)
  }
  const elsewhere = signProof({ ...unsigned, timestamp: '2026-11-20T12:00:00+02:00' }, keys)
  assert.equal(checkProof(elsewhere, expected, keys, nowMs), 'proof_expired')
})

const mismatches: readonly (readonly [amount: string, currency: string])[] = [
  ['10.0', 'USDC'],
  ['10', 'USDC'],
  ['10.000', 'USDC'],
  ['010.00', 'USDC'],
  ['10.00 ', 'USDC'],
  ['9.99', 'USDC'],
  ['1e1', 'USDC'],
  ['', 'USDC'],
  ['10.00', 'usdc'],
  ['10.00', 'USDC '],
  ['10.00', 'EURC'],
  ['10.00', ''],
]
for (const [amount, currency] of mismatches) {
  test(`10.00 USDC is not ${JSON.stringify(amount)} ${JSON.stringify(currency)}: amount and currency compare as exact text [verify.step.2] [limits.equality] [what.amounts]`, () => {
    assert.equal(checkProof(proof, { amount, currency }, keys, nowMs), 'amount_mismatch')
  })
}

test('The steps run in order and stop at the first failure [verify.order]', () => {
  const old = nowMs + validityWindowMs + 1
  const mismatch = { amount: '9.99', currency: 'USDC' }
  const forged = { ...proof, signature: '0'.repeat(64) }
  assert.equal(checkProof(forged, mismatch, keys, old), 'proof_expired')
  assert.equal(checkProof(proof, mismatch, keys, old), 'proof_expired')
  assert.equal(checkProof(forged, expected, keys, old), 'proof_expired')
  assert.equal(checkProof(forged, mismatch, keys, nowMs), 'amount_mismatch')
  assert.equal(checkProof(forged, expected, keys, nowMs), 'invalid_signature')
})

test('Steps 2 and 3 alone ignore the time [verify.order]', () => {
  const forged = { ...proof, signature: '0'.repeat(64) }
  const ancient = signProof({ ...unsigned, timestamp: '1999-01-01T00:00:00Z' }, keys)
  assert.equal(checkProofContent(ancient, expected, keys), undefined)
  assert.equal(checkProofContent(forged, { amount: '9', currency: 'USDC' }, keys), 'amount_mismatch')
  assert.equal(checkProofContent(forged, expected, keys), 'invalid_signature')
})

test('No random change of a proof ever verifies [verify.step.3]', () => {
  const random = seededRandom(21)
  const text = JSON.stringify(proof)
  let looked = 0
  for (let round = 0; round < 3_000; round++) {
    const at = random.below(text.length)
    const changed = parse(
      text.slice(0, at) + String.fromCodePoint(32 + random.below(95)) + text.slice(at + 1),
    )
    if (!changed || JSON.stringify(changed) === text) continue
    looked += 1
    assert.notEqual(checkProofContent(changed, changed, keys), undefined, JSON.stringify(changed))
  }
  assert(looked > 1_000)
})

function parse(text: string): Proof | undefined {
  try {
    const value = JSON.parse(text) as Proof
    return typeof value.signature === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
