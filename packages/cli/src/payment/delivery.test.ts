import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

import { testCommand } from '../../testing/command.ts'
import { openDelivery } from './delivery.ts'

/** What a terminal shows of a body, and what is saved of it. */
async function deliver(context: Parameters<typeof testCommand>[0], chunks: readonly Uint8Array[]) {
  const { folder } = testCommand(context)
  let shown = ''
  const write = async (bytes: Uint8Array) => void (shown += Buffer.from(bytes).toString())
  const io = { isTerminal: true, write, folder, homeFolder: folder } as Parameters<typeof openDelivery>[1]
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const bytes of chunks) controller.enqueue(bytes)
      controller.close()
    },
  })
  const place = await openDelivery(undefined, io).take(body)
  return { shown, saved: place === undefined ? undefined : readFileSync(place), files: readdirSync(folder) }
}

const binary: Readonly<Record<string, readonly Uint8Array[]>> = {
  'begins like text': [Buffer.from('%PDF-1.3\n'), Buffer.from([0x25, 0xff, 0xff]), Buffer.from('endobj')],
  'has a zero later': [Buffer.from('ustar'), Buffer.from([0x20, 0])],
  'ends within a character': [Buffer.from('caf'), Buffer.from([0xc3])],
}
for (const [how, chunks] of Object.entries(binary)) {
  test(`Binary goods for a terminal are saved whole if their content ${how}`, async (context) => {
    const { saved } = await deliver(context, chunks)
    assert.deepEqual(saved, Buffer.concat(chunks))
  })
}

test('After 16 MiB of text, only the rest of the goods is saved', async (context) => {
  const text = Buffer.alloc(6 * 1024 * 1024, 'a')
  const { shown, saved } = await deliver(context, [text, text, text, Buffer.from([0, 1])])
  assert.equal(shown.length, 3 * text.length)
  assert.deepEqual(saved, Buffer.from([0, 1]))
})

test('Text whose characters are split between chunks is shown, and not saved', async (context) => {
  const bytes = Buffer.from('café\n')
  const { shown, files } = await deliver(context, [bytes.subarray(0, 4), bytes.subarray(4)])
  assert.deepEqual([shown, files], ['café\n', []])
})
