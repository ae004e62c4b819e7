import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'

import { keyPrefixes } from '@purser/wire/api-keys'
import type { Environment } from '@purser/wire/fields'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 30 characters of base62 carry 178 random bits. */
const randomLength = 30
const checksumLength = 6

/** A source of random bytes. */
export type RandomBytes = (size: number) => Uint8Array

/** The text of a new key: its environment's prefix, random base62, and a checksum (Authentication, rule 2). */
export function mintApiKey(environment: Environment, randomBytes: RandomBytes): string {
  const body = keyPrefixes[environment] + randomBase62(randomLength, randomBytes)
  return body + checksum(body)
}

/** Whether the text can be a generated key: a mistyped one is refused without a lookup. */
export function isWellFormedApiKey(text: string): boolean {
  const prefix = Object.values(keyPrefixes).find((known) => text.startsWith(known))
  if (!prefix || text.length !== prefix.length + randomLength + checksumLength) return false
  return checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)
}

/** The SHA-256 of a key, the only part that is stored. */
export function hashApiKey(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

/** The hint in a list of keys, by which its holder can recognize it. */
export function hintOf(text: string): string {
  return text.slice(-4)
}

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let index = 0; index < checksumLength; index++) {
    text += base62[rest % 62]
    rest = Math.floor(rest / 62)
  }
  return text
}

function randomBase62(length: number, randomBytes: RandomBytes): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 in a byte; larger values would bias towards the first characters.
      if (byte < 248 && text.length < length) text += base62[byte % 62]
    }
  }
  return text
}
