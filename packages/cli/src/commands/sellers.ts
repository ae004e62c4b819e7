import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import type { Seller } from '@purser/client'

import { connect } from '../connection.ts'
import { timeCell } from '../output/cells.ts'
import { showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import type { Surroundings } from '../surroundings.ts'
import { clientCommand, listCommand } from './client-command.ts'
import { listItems } from './list-items.ts'

const columns: readonly Column<Seller>[] = [
  { title: 'id', cell: ({ id }) => id },
  { title: 'domain', cell: ({ domain }) => domain },
  { title: 'name', cell: ({ name }) => name, canShrink: true },
  { title: 'prices', cell: ({ price_config }) => JSON.stringify(price_config), canShrink: true },
  { title: 'created (utc)', cell: ({ created_at }) => timeCell(created_at), canDrop: true },
]

export function sellersCommand(surroundings: Surroundings) {
  return new Command('sellers')
    .summary('register and list sellers')
    .addCommand(createCommand(surroundings))
    .addCommand(listSellersCommand(surroundings))
}

function createCommand(surroundings: Surroundings) {
  return clientCommand('create')
    .summary('register a seller under its domain')
    .requiredOption('--name <name>', 'what it is called')
    .requiredOption('--domain <domain>', 'its host name, such as api.example.com')
    .option('--prices <json>', 'its own price list, a JSON object', parseObject)
    .action(async ({ name, domain, prices = {}, ...options }) => {
      const { sellers } = await connect(options, surroundings)
      const body = { name, domain, price_config: prices }
      const seller = await sellers.create(body, { signal: surroundings.interruption() })
      showRecord(columns, seller, options, surroundings)
    })
}

function listSellersCommand(surroundings: Surroundings) {
  return listCommand('list')
    .summary('list sellers, newest first')
    .action(async (options) => {
      const { sellers } = await connect(options, surroundings)
      const none = `There are no sellers yet; ${surroundings.calledAs} sellers create registers one.`
      await listItems({ list: sellers.list, columns, none }, options, surroundings)
    })
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>
    }
  } catch {
    // Told below, as any other text that is no object.
  }
  throw new InvalidArgumentError(`It must be a JSON object, such as '{"default":"0.10"}'.`)
}
