import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'

import { keepInProcess, type DeliveryStore, type Worth } from './delivery-store.ts'
import { fileDeliveries } from '../file-store.ts'
import { sqliteDeliveries } from '../sqlite-store.ts'

import BetterSqlite from 'better-sqlite3'

const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const testing = join(import.meta.dirname, '../../testing')
let places = 0
const newPlace = () => join(folder, String(places++))

interface Settings {
  readonly now: () => number
  readonly max: number
}

const stores: Readonly<Record<string, (settings: Settings) => DeliveryStore>> = {
  'the memory of a process': keepInProcess,
  'a folder': (settings) => fileDeliveries(newPlace(), settings),
  'node:sqlite': (settings) => sqliteDeliveries(new DatabaseSync(newPlace()), { ...settings, sweepEvery: 1 }),
  'better-sqlite3': (settings) =>
    sqliteDeliveries(new BetterSqlite(newPlace()), { ...settings, sweepEvery: 1 }),
}

const kept = (text: string, worth: Worth = 'paid', keepUntilMs = 1_000) => ({ text, worth, keepUntilMs })
const idOf = (number: number) => number.toString(16).padStart(64, '0')

for (const [name, open] of Object.entries(stores)) {
  describe(`Deliveries in ${name}`, () => {
    test('A value is replaced only if it is still the expected one', async () => {
      const store = open({ now: () => 0, max: 40 })
      const id = idOf(1)
      assert.equal(await store.read(id), undefined)
      assert.equal(await store.replace(id, 'a', kept('b')), false)
      assert.equal(await store.replace(id, undefined, kept('a')), true)
      assert.equal(await store.replace(id, undefined, kept('b')), false)
      assert.equal(await store.replace(id, 'b', undefined), false)
      assert.equal(await store.read(id), 'a')
      const text = JSON.stringify({ state: 'claimed', key: 'é/..\u0000', runs: 2 })
      assert.equal(await store.replace(id, 'a', kept(text, 'ended')), true)
      assert.equal(await store.read(id), text)
      assert.equal(await store.read(idOf(2)), undefined)
      assert.equal(await store.replace(id, text, undefined), true)
      assert.equal(await store.read(id), undefined)
      assert.equal(await store.replace(id, undefined, kept('c')), true)
    })

    test('An expired value is missing, and can be replaced as such', async () => {
      let nowMs = 0
      const store = open({ now: () => nowMs, max: 40 })
      assert.equal(await store.replace(idOf(1), undefined, kept('a')), true)
      nowMs = 1_000
      assert.equal(await store.read(idOf(1)), undefined)
      assert.equal(await store.replace(idOf(1), 'a', kept('b', 'paid', 2_000)), false)
      assert.equal(await store.replace(idOf(1), undefined, kept('c', 'paid', 2_000)), true)
      assert.equal(await store.read(idOf(1)), 'c')
    })

    test('A full store drops doubtful deliveries before paid ones', async () => {
      const store = open({ now: () => 0, max: 40 })
      await store.replace(idOf(0), undefined, kept('paid'))
      for (let number = 1; number <= 100; number++) {
        await store.replace(idOf(number), undefined, kept('x', 'doubtful', 1_000 + number))
      }
      assert.equal(await store.read(idOf(0)), 'paid')
      const left = await Promise.all(
        Array.from({ length: 101 }, async (_, number) => store.read(idOf(number))),
      )
      const count = left.filter((text) => text !== undefined).length
      assert.ok(count >= 20 && count <= 42, `${count} are left`)
      assert.equal(left[1], undefined, 'the oldest has gone')
      assert.equal(left[100], 'x', 'the newest is there')
    })
  })
}

test(
  'A folder of deliveries may contain other files, and a copy of an older delivery',
  { timeout: 10_000 },
  async () => {
    const place = newPlace()
    const store = fileDeliveries(place, { now: () => 0, max: 40 })
    const id = idOf(0)
    assert.equal(await store.replace(id, undefined, kept('paid')), true)
    for (const stray of ['.DS_Store', 'backup', '.nfs0001', '1.paid', '1000.paid.cGFpZA.bak']) {
      writeFileSync(join(place, '00', stray), '')
      writeFileSync(join(place, '00', id, stray), '')
    }
    assert.equal(await store.read(id), 'paid')
    writeFileSync(join(place, '00', id, '900.doubtful.b2xk'), '')
    assert.equal(await store.replace(id, 'paid', kept('again')), true)
    rmSync(join(place, '00', id, '900.doubtful.b2xk'))
    for (let number = 1; number <= 100; number++) {
      assert.equal(await store.replace(idOf(number), undefined, kept('x', 'doubtful')), true)
    }
    assert.equal(await store.read(id), 'again')
    assert.equal(await store.replace(id, 'again', undefined), true)
    assert.equal(await store.read(id), undefined)
    assert.equal(await store.replace(id, undefined, kept('new')), true)
    assert.equal(await store.read(id), 'new')
  },
)

test('Processes that open a new sqlite store at the same time wait for each other', async (context) => {
  const place = newPlace()
  mkdirSync(place)
  const openers = [1, 2, 3].map(() => fork(join(testing, 'store-opener.ts'), [place, '50']))
  context.after(() => {
    for (const opener of openers) opener.kill('SIGKILL')
  })
  await Promise.all(openers.map((opener) => once(opener, 'message')))
  const startMs = Date.now() + 20
  const answers = await Promise.all(
    openers.map(async (opener): Promise<unknown> => {
      const answer = once(opener, 'message')
      opener.send(startMs)
      return (await answer)[0]
    }),
  )
  assert.deepEqual(answers, [[], [], []])
})

for (const kind of ['file', 'sqlite']) {
  test(
    `If three processes replace the same value in a ${kind} store, one succeeds`,
    { timeout: 60_000 },
    async (context) => {
      const place = newPlace()
      const count = 150
      const script = join(testing, 'store-racer.ts')
      const racers = await Promise.all(
        [1, 2, 3].map(async () => {
          const racer = fork(script, [kind, place, String(count)])
          context.after(() => racer.kill('SIGKILL'))
          await once(racer, 'message')
          return racer
        }),
      )
      for (const round of ['claims', 'takeovers']) {
        const wins = await Promise.all(racers.map((racer) => ask(racer)))
        assert.equal(
          wins.reduce((sum, one) => sum + one, 0),
          count,
          `${round}: ${wins.join(', ')}`,
        )
      }
    },
  )
}

async function ask(racer: ChildProcess): Promise<number> {
  const answer = once(racer, 'message')
  racer.send('go')
  return Number((await answer)[0])
}
