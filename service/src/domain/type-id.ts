/** The kinds of ids; the prefix is only for people and must not be parsed. */
export const idPrefixes = {
  account: 'acct',
  apiKey: 'key',
  agent: 'agent',
  mandate: 'mandate',
  budget: 'budget',
  limit: 'limit',
  seller: 'seller',
  transaction: 'txn',
  auditEvent: 'event',
  session: 'session',
  stop: 'stop',
  approval: 'approval',
} as const
export type IdKind = keyof typeof idPrefixes

/**
 * The 16 bytes of an id; undefined for any text that `idText` would not return. A nonce is a UUID without a
 * prefix.
 */
export function idBytes(kind: IdKind | 'nonce', text: string): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(16)
  return writeId(kind, text, { bytes, at: 0 }) ? bytes : undefined
}

/** Writes the 16 bytes of an id; returns whether the text is valid, as for `idBytes`. */
export function writeId(
  kind: IdKind | 'nonce',
  text: string,
  { bytes, at }: { readonly bytes: Buffer; readonly at: number },
): boolean {
  if (kind === 'nonce') return decodeUuid(text, { bytes, at })
  const start = idPrefixes[kind].length + 1
  if (text.length !== start + suffixLength || !text.startsWith(idPrefixes[kind])) return false
  return text[start - 1] === '_' && decodeBase32(text, start, { bytes, at })
}

/** The id with these 16 bytes. */
export function idText(kind: IdKind | 'nonce', bytes: Buffer): string {
  const length = kind === 'nonce' ? encodeUuid(bytes) : encodeBase32(bytes, encodePrefix(kind))
  return characters.toString('latin1', 0, length)
}

/**
 * The id of a record that is derived from a proof: it has the bytes of the nonce, so that a retry makes the
 * same one. Other bits of a random byte distinguish records of one kind.
 */
export function idOfNonce(kind: IdKind, nonce: string, other = { byte: 15, bits: 0 }): string {
  const bytes = idBytes('nonce', nonce)
  if (!bytes) throw new TypeError(`not a nonce: ${nonce}`)
  bytes[other.byte]! ^= other.bits
  return idText(kind, bytes)
}

/**
 * The characters of the id being encoded. Text that is joined from parts stays a tree of them in memory, which every comparison
 * and lookup of the id walks: text decoded at once halves their time.
 */
const characters = Buffer.alloc(64)

/** The digits of Crockford's base32. */
export const crockford = '0123456789abcdefghjkmnpqrstvwxyz'
const suffixLength = 26

/**
 * The value of each ASCII character as a base32 digit, which includes hexadecimal digits; 32 for other characters.
 */
const digits = Uint8Array.from({ length: 128 }, (_, code) => {
  const digit = crockford.indexOf(String.fromCharCode(code))
  return digit < 0 ? 32 : digit
})

/** Writes the bytes of a lower-case UUID; returns whether the text is one. */
function decodeUuid(text: string, { bytes, at }: { readonly bytes: Buffer; readonly at: number }): boolean {
  if (text.length !== 36) return false
  let next = at
  for (let index = 0; index < 36; index += 2) {
    if (index === 8 || index === 13 || index === 18 || index === 23) {
      if (text[index++] !== '-') return false
    }
    const high = digits[text.charCodeAt(index)] ?? 32
    const low = digits[text.charCodeAt(index + 1)] ?? 32
    if (high > 15 || low > 15) return false
    bytes[next++] = (high << 4) | low
  }
  return true
}

/** Writes the characters of a UUID; returns their number. */
function encodeUuid(bytes: Uint8Array): number {
  let next = 0
  for (let index = 0; index < 16; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) characters[next++] = dash
    const byte = bytes[index]!
    characters[next++] = digitCodes[byte >> 4]!
    characters[next++] = digitCodes[byte & 15]!
  }
  return next
}

/** Writes the prefix of an id; returns the number of characters. */
function encodePrefix(kind: IdKind): number {
  return characters.write(`${idPrefixes[kind]}_`, 'latin1')
}

/**
 * Writes 128 bits as 26 characters of Crockford's base32, most significant first, as in TypeID; returns the number of
 * characters of the id.
 */
function encodeBase32(bytes: Uint8Array, start: number): number {
  let next = start
  let pending = 0
  let pendingBits = 2 // 26 characters hold 130 bits: two leading zeros
  for (const byte of bytes) {
    pending = (pending << 8) | byte
    pendingBits += 8
    while (pendingBits >= 5) {
      pendingBits -= 5
      characters[next++] = digitCodes[(pending >> pendingBits) & 31]!
    }
    pending &= (1 << pendingBits) - 1
  }
  return next
}

const dash = '-'.charCodeAt(0)
const digitCodes = Buffer.from(crockford, 'latin1')

/** The inverse of `encodeBase32`, for the characters from `start`; returns whether they are valid. */
function decodeBase32(
  text: string,
  start: number,
  { bytes, at }: { readonly bytes: Buffer; readonly at: number },
): boolean {
  let pending = 0
  let pendingBits = -2 // the two leading zeros
  let next = at
  for (let index = start; index < start + suffixLength; index++) {
    const digit = digits[text.charCodeAt(index)] ?? 32
    if (digit === 32 || (index === start && digit > 7)) return false
    pending = (pending << 5) | digit
    pendingBits += 5
    if (pendingBits < 8) continue
    pendingBits -= 8
    bytes[next++] = pending >> pendingBits
    pending &= (1 << pendingBits) - 1
  }
  return true
}
