import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import type { List } from '@purser/client'

import { follow } from '../follow.ts'
import { harmlessJson } from '../output/harmless.ts'
import { tableOf, type Column } from '../output/table.ts'
import type { Io } from '../io.ts'

const leastInterval = 0.2

export function followOption() {
  return new Option(
    '--follow',
    'show the last ten items, then new ones until Ctrl-C; with --json, one line each',
  )
}

export function intervalOption() {
  return new Option('--interval <seconds>', 'polling interval of --follow')
    .argParser(parseInterval)
    .default(2)
}

function parseInterval(text: string): number {
  const seconds = /^\d{1,4}(\.\d+)?$/.test(text) ? Number(text) : 0
  if (seconds < leastInterval || seconds > 3_600) {
    throw new InvalidArgumentError(`It must be a number of seconds from ${leastInterval} to 3600.`)
  }
  return seconds
}

/** Number of existing items to show first. */
const shownFirst = 10

interface Following<Item> {
  readonly list: (query: { readonly limit: number }, options: { readonly signal: AbortSignal }) => List<Item>
  readonly columns: readonly Column<Item>[]
}

/** Shows new items as table rows, or one JSON document per line, until Ctrl-C. */
export async function followItems<Item extends { readonly id: string; readonly created_at: string }>(
  { list, columns }: Following<Item>,
  { interval, json }: { readonly interval: number; readonly json?: true },
  io: Io,
): Promise<void> {
  const table = tableOf(columns, io)
  await follow({
    list,
    first: shownFirst,
    intervalMs: interval * 1_000,
    signal: io.interruption(),
    onItems: (items) => {
      io.print(json ? items.map((item) => harmlessJson(item)).join('\n') : table(items))
    },
    onNotice: io.printError,
  })
}
