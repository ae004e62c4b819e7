import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'

import { fileDeliveries } from '@purser/merchant/file-store'
import { sqliteDeliveries } from '@purser/merchant/sqlite-store'

/** Tries to claim every id, then to take over every claim, and reports how often each succeeded. */
const [kind, place = '', count = '0'] = process.argv.slice(2)
const store = kind === 'file' ? fileDeliveries(place) : sqliteDeliveries(new DatabaseSync(place))
// Spread over the folders of a file store, so that none fills up.
const ids = Array.from({ length: Number(count) }, (_, number) =>
  createHash('sha256').update(String(number)).digest('hex'),
)
const kept = (text: string) => ({ text, keepUntilMs: Date.now() + 60_000, worth: 'paid' }) as const

process.send?.('ready')
process.once('message', () => void race())

async function race(): Promise<void> {
  process.once('message', () => void takeOver())
  process.send?.(await winsOf(undefined, 'claim'))
}

async function takeOver(): Promise<void> {
  process.send?.(await winsOf('claim', `taken over by ${process.pid}`), () => process.disconnect())
}

async function winsOf(from: string | undefined, to: string): Promise<number> {
  const wins = await Promise.all(ids.map(async (id) => store.replace(id, from, kept(to))))
  return wins.filter(Boolean).length
}
