import assert from 'node:assert/strict'
import { test } from 'node:test'

import stringWidth from 'string-width'

import { renderRecord, renderTable, tableOf, type Column } from './table.ts'

interface Item {
  readonly id: string
  readonly name: string
  readonly amount: string
}

const columns: readonly Column<Item>[] = [
  { title: 'id', cell: ({ id }) => id },
  { title: 'name', cell: ({ name }) => name, canShrink: true },
  { title: 'amount', cell: ({ amount }) => amount, align: 'right' },
]
const items: readonly Item[] = [
  { id: 'agent_1', name: 'research bot', amount: '4.00' },
  { id: 'agent_2', name: '研究機器人', amount: '1200.50' },
]
const endless = { columns: Number.POSITIVE_INFINITY, hasColours: false }

test('Table columns line up, amounts are right-aligned, and wide characters count as two', () => {
  assert.deepEqual(renderTable(columns, items, endless).split('\n'), [
    'ID       NAME           AMOUNT',
    'agent_1  research bot     4.00',
    'agent_2  研究機器人    1200.50',
  ])
})

test('A narrow terminal cuts free text, between characters, and never an id or an amount', () => {
  assert.deepEqual(renderTable(columns, items, { ...endless, columns: 26 }).split('\n'), [
    'ID       NAME       AMOUNT',
    'agent_1  researc…     4.00',
    'agent_2  研究機…   1200.50',
  ])
})

test('No line is wider than the terminal, however wide that is', () => {
  const long = items.map((item) => ({ ...item, name: item.name.repeat(20) }))
  for (let width = 26; width < 120; width++) {
    for (const line of renderTable(columns, long, { ...endless, columns: width }).split('\n')) {
      assert.ok(stringWidth(line) <= width, `${width}: ${line}`)
    }
  }
})

test('Optional columns are dropped before free text is cut to its min width', () => {
  const withMore = [...columns, { title: 'note', cell: () => 'an optional comment', canDrop: true as const }]
  const [title = ''] = renderTable(withMore, items, { ...endless, columns: 40 }).split('\n')
  assert.match(title, /^ID +NAME +AMOUNT$/)
  assert.match(renderTable(withMore, items, endless), /NOTE\n/)
})

test('A terminal that is too narrow for a line shows a block for each item', () => {
  assert.equal(
    renderTable(columns, items, { ...endless, columns: 20 }),
    'id      agent_1\nname    research bot\namount  4.00\n\nid      agent_2\nname    研究機器人\namount  1200.50',
  )
})

test('A name cannot break out of its cell in a table', () => {
  const hostile = [{ id: 'agent_1', name: '\u001b[1A\nagent_2  paid', amount: '1.00' }]
  assert.deepEqual(renderTable(columns, hostile, endless).split('\n').slice(1), [
    'agent_1  \\u001b[1A\\nagent_2  paid    1.00',
  ])
  assert.equal(renderRecord(columns, hostile[0] ?? assert.fail(), endless).split('\n').length, 3)
})

test('A continued table keeps its columns, and has one header', () => {
  const table = tableOf(columns, endless)
  const [title, first] = table(items.slice(1)).split('\n')
  const second = table(items.slice(0, 1))
  assert.equal(title, 'ID       NAME         AMOUNT')
  assert.equal(first, 'agent_2  研究機器人  1200.50')
  assert.equal(second, 'agent_1  research bot     4.00', 'wider only where needed')
})

test('Colours are used only where enabled, and add no information', () => {
  const coloured: readonly Column<Item>[] = [{ title: 'id', cell: ({ id }) => ({ text: id, colour: 'red' }) }]
  const plain = renderTable(coloured, items, endless)
  const bright = renderTable(coloured, items, { ...endless, hasColours: true })
  assert.ok(bright.includes('\u001b[31magent_1\u001b[39m'))
  // oxlint-disable-next-line no-control-regex -- matches color codes
  assert.equal(bright.replaceAll(/\u001b\[\d+m/g, ''), plain)
})
