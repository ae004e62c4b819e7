import { crockford, idText } from './type-id.ts'

/** How many characters of an id's suffix hold its time: 48 bits of milliseconds. */
const timeCharacters = 10

/**
 * A text that sorts between ids of transactions created before and after a point in time. Ids begin with their time; only
 * this code may rely on that.
 */
export function transactionsFrom(atMs: number): string {
  return idText('transaction', bytesFrom(atMs)).slice(0, 'txn_'.length + timeCharacters)
}

/** The smallest 16 bytes of an id or a nonce created at a time, which may be infinite. */
export function bytesFrom(atMs: number): Buffer {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(Math.max(0, Math.min(Math.floor(atMs), 2 ** 48 - 1)), 0, 6)
  return bytes
}

/** When a nonce was created, in milliseconds: a UUIDv7 begins with its time. */
export function timeOfNonce(nonce: string): number {
  return Number.parseInt(nonce.replaceAll('-', '').slice(0, 12), 16)
}

/** When an id was created, in milliseconds. */
export function timeOfId(id: string): number {
  const suffix = id.slice(id.indexOf('_') + 1)
  let atMs = 0
  for (const character of suffix.slice(0, timeCharacters)) atMs = atMs * 32 + crockford.indexOf(character)
  return atMs
}
