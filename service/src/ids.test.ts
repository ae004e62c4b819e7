import assert from 'node:assert/strict'
import { test } from 'node:test'

import { version } from 'uuid'

import { seededRandom } from '../testing/seeded-random.ts'
import { idPrefixes, type IdKind } from './domain/type-id.ts'
import { createIds } from './ids.ts'

const startMs = Date.UTC(2026, 10, 20, 12)
const kinds = Object.keys(idPrefixes) as IdKind[]

/** The valid vectors of the TypeID specification 0.3.0: suffix and UUID. */
const vectors: readonly (readonly [suffix: string, uuid: string])[] = [
  ['00000000000000000000000000', '00000000-0000-0000-0000-000000000000'],
  ['00000000000000000000000001', '00000000-0000-0000-0000-000000000001'],
  ['0000000000000000000000000a', '00000000-0000-0000-0000-00000000000a'],
  ['0000000000000000000000000g', '00000000-0000-0000-0000-000000000010'],
  ['00000000000000000000000010', '00000000-0000-0000-0000-000000000020'],
  ['7zzzzzzzzzzzzzzzzzzzzzzzzz', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  ['0123456789abcdefghjkmnpqrs', '0110c853-1d09-52d8-d73e-1194e95b5f19'],
  ['01h455vb4pex5vsknk084sn02q', '01890a5d-ac96-774b-bcce-b302099a8057'],
]

test('The base32 decoder of the tests agrees with every vector of the TypeID specification', () => {
  for (const [suffix, uuid] of vectors) assert.equal(uuidOf(suffix), uuid)
})

test('The UUIDv7 of the specification becomes its TypeID', () => {
  // The random bytes of the vector. The counter has 31 bits of which the first 16 are random, so the vector is the id
  // reached after this many others.
  const drawn = Uint8Array.from([0, 0, 0, 0, 0, 0, 0xe9, 0x7e, 0, 0, 0xb3, 0x02, 0x09, 0x9a, 0x80, 0x57])
  const idsLater = 0x74bf33ac - 0x74bf0000
  const source = () =>
    createIds(
      () => 0x01890a5dac96,
      () => drawn,
    )
  const typeIds = source()
  const nonces = source()
  for (let skipped = 0; skipped < idsLater; skipped++) {
    typeIds.next('mandate')
    nonces.nonce()
  }
  assert.equal(typeIds.next('mandate'), 'mandate_01h455vb4pex5vsknk084sn02q')
  assert.equal(nonces.nonce(), '01890a5d-ac96-774b-bcce-b302099a8057')
})

for (const kind of kinds) {
  const prefix = idPrefixes[kind]
  test(`The id of a ${kind} is a TypeID: ${prefix}_ and 26 characters of base32 that encode a UUIDv7 [fields.ids]`, () => {
    const ids = createIds(() => startMs, seededRandom(1).bytes)
    for (let round = 0; round < 200; round++) {
      const id = ids.next(kind)
      const suffix = id.slice(id.lastIndexOf('_') + 1)
      assert.equal(id, `${prefix}_${suffix}`)
      assert.match(id, /^[a-z]([a-z_]{0,61}[a-z])?_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
      assertUuidV7(uuidOf(suffix), startMs)
    }
  })
}

test('No two kinds share a prefix', () => {
  assert.equal(new Set(Object.values(idPrefixes)).size, kinds.length)
})

test('A nonce is a UUIDv7 of its time [proof.nonce]', () => {
  const clock = { nowMs: startMs }
  const ids = createIds(() => clock.nowMs, seededRandom(2).bytes)
  for (let round = 0; round < 1_000; round++) {
    clock.nowMs += round % 2
    assertUuidV7(ids.nonce(), clock.nowMs)
  }
})

test('Later ids of a process sort after earlier ones, within one millisecond and over many', () => {
  const random = seededRandom(3)
  const clock = { nowMs: startMs }
  const ids = createIds(() => clock.nowMs, random.bytes)
  assertAscending(20_000, () => {
    if (random.below(50) === 0) clock.nowMs += random.below(3)
    return ids.next('transaction')
  })
})

test('Ids also sort this way if the clock goes back', () => {
  const random = seededRandom(4)
  const clock = { nowMs: startMs }
  const ids = createIds(() => clock.nowMs, random.bytes)
  assertAscending(5_000, () => {
    clock.nowMs += random.below(5) - 3
    return ids.nonce()
  })
})

test('If the clock is set back by more than ten minutes, ids follow it, so that lists by time find them', () => {
  const clock = { nowMs: startMs }
  const ids = createIds(() => clock.nowMs, seededRandom(5).bytes)
  ids.nonce()
  clock.nowMs -= 10 * 60_000
  assertUuidV7(ids.nonce(), startMs)
  clock.nowMs -= 1
  assertUuidV7(ids.nonce(), clock.nowMs)
})

test('When the counter of a millisecond is exhausted, the next millisecond is used', () => {
  // The highest start leaves room for 32,767 more.
  const ids = createIds(
    () => startMs,
    (size) => new Uint8Array(size).fill(0xff),
  )
  const nonces = assertAscending(32_769, () => ids.nonce())
  assertUuidV7(nonces.at(-2) ?? '', startMs)
  assertUuidV7(nonces.at(-1) ?? '', startMs + 1)
})

test('Ids and nonces of one source never collide, nor do those of two sources at the same time [proof.nonce]', () => {
  const seen = new Set<string>()
  const sources = [createIds(() => startMs), createIds(() => startMs), createIds(() => startMs)]
  for (let round = 0; round < 2_000; round++) {
    for (const ids of sources) {
      seen.add(ids.nonce())
      seen.add(uuidOf(ids.next('agent').slice('agent_'.length)))
    }
  }
  assert.equal(seen.size, 2_000 * 3 * 2)
})

function assertUuidV7(uuid: string, atMs: number): void {
  assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.equal(version(uuid), 7)
  assert.equal(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16), atMs)
}

function assertAscending(count: number, next: () => string): string[] {
  const ids = Array.from({ length: count }, next)
  for (const [index, id] of ids.entries()) {
    const before = ids[index - 1]
    assert(before === undefined || before < id, `${before} is not before ${id}`)
  }
  return ids
}

/** The UUID of a TypeID's suffix, decoded as a base32 number. */
function uuidOf(suffix: string): string {
  const digits = '0123456789abcdefghjkmnpqrstvwxyz'
  const value = suffix.split('').reduce((sum, digit) => sum * 32n + BigInt(digits.indexOf(digit)), 0n)
  const hex = value.toString(16).padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
