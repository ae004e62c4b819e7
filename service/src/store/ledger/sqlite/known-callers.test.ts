import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import type { Caller } from '../../../domain/records.ts'
import { KnownCallers } from './known-callers.ts'

const hash = Buffer.from('a hash')
const caller: Caller = {
  accountId: 'acc_1',
  environment: 'sandbox',
  keyId: 'key_1',
  role: 'owner',
  agentId: null,
}

const firstLookUps = [
  { title: 'A key is refused until it is durable', found: caller },
  {
    title: 'The answer that a key is unknown waits until earlier commits are durable',
    found: undefined,
  },
]

for (const { title, found } of firstLookUps) {
  test(title, async () => {
    const disk = new Disk()
    const callers = new KnownCallers({ lookUp: () => found, untilDurable: disk.wait })
    disk.begin()
    let isAnswered = false
    const finding = Promise.resolve(callers.find(hash)).finally(() => (isAnswered = true))
    await turn()
    assert.equal(isAnswered, false)
    disk.end()
    assert.equal(await finding, found)
  })
}

test('A cached, durable key waits for no later commit and is not looked up again', async () => {
  const disk = new Disk()
  let lookUps = 0
  const lookUp = () => {
    lookUps += 1
    return caller
  }
  const callers = new KnownCallers({ lookUp, untilDurable: disk.wait })
  await callers.find(hash)
  disk.begin()
  assert.equal(await callers.find(hash), caller)
  assert.equal(lookUps, 1)
})

test('What was looked up before a key changed is dropped, even if it becomes durable later', async () => {
  const disk = new Disk()
  let opened: Caller | undefined = caller
  const callers = new KnownCallers({ lookUp: () => opened, untilDurable: disk.wait })
  disk.begin()
  const finding = callers.find(hash)
  opened = undefined
  callers.forget()
  disk.end()
  await finding
  assert.equal(await callers.find(hash), undefined)
})

/** A disk that makes commits durable when the test says so. */
class Disk {
  #writing: PromiseWithResolvers<void> | undefined

  begin(): void {
    this.#writing = Promise.withResolvers()
  }

  end(): void {
    this.#writing?.resolve()
    this.#writing = undefined
  }

  readonly wait = (): Promise<void> | undefined => this.#writing?.promise
}
