import assert from 'node:assert/strict'
import { test } from 'node:test'

import { rememberInProcess } from './deliveries.ts'

const delivery = { key: 'a', runs: 0 }

test('What is kept for a proof is given once [decision.97]', () => {
  const memory = rememberInProcess()
  void memory.keep('proof', delivery)
  assert.deepEqual([memory.take('proof'), memory.take('proof')], [delivery, undefined])
  assert.equal(memory.take('another'), undefined)
})

test('A delivery is forgotten after an hour [decision.97]', () => {
  let nowMs = 0
  const memory = rememberInProcess(() => nowMs)
  void memory.keep('early', delivery)
  nowMs = 1
  void memory.keep('late', delivery)
  nowMs = 3_600_000
  assert.deepEqual([memory.take('early'), memory.take('late')], [undefined, delivery])
})

test('The memory holds 10,000 deliveries, and forgets the oldest first [decision.97]', () => {
  const memory = rememberInProcess()
  for (let number = 0; number <= 10_000; number++) void memory.keep(`proof ${number}`, delivery)
  void memory.keep('proof 10000', { key: 'b', runs: 1 })
  assert.equal(memory.take('proof 0'), undefined)
  assert.deepEqual(memory.take('proof 1'), delivery)
  assert.deepEqual(memory.take('proof 10000'), { key: 'b', runs: 1 })
})

test('What was paid for certain has room of its own: what is in doubt never pushes it out [decision.97]', () => {
  const memory = rememberInProcess()
  void memory.keep('paid', { key: 'b', runs: 1 })
  for (let number = 0; number <= 10_000; number++) void memory.keep(`doubtful ${number}`, delivery)
  assert.deepEqual(memory.take('paid'), { key: 'b', runs: 1 })
  assert.equal(memory.take('doubtful 0'), undefined)
})

test('Of what was paid for certain, too, 10,000 are kept, and once for each proof [decision.97]', () => {
  const memory = rememberInProcess()
  void memory.keep('proof 0', delivery)
  for (let number = 0; number <= 10_000; number++) void memory.keep(`proof ${number}`, { key: 'b', runs: 1 })
  assert.equal(memory.take('proof 0'), undefined)
  void memory.keep('proof 1', delivery)
  assert.deepEqual([memory.take('proof 1'), memory.take('proof 1')], [delivery, undefined])
})
