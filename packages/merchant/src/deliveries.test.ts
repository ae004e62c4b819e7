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
