import type { ValidationItem } from '@purser/wire/errors'

import { parse, rawJSON, type Reviver } from './exact-json.ts'

/**
 * The items with their inputs as written in the JSON text, including numbers that JavaScript cannot represent:
 * `12345678901234567890` is echoed digit by digit. Only `JSON.stringify` shows it so.
 */
export function echoExactly(
  items: readonly ValidationItem[],
  json: string | undefined,
): readonly ValidationItem[] {
  if (json === undefined || !maybeInexact.test(json)) return items
  const body = parse(json, keepExact)
  return items.map((item) => {
    if (typeof item.input === 'string' || item.input === null) return item
    // The item of a missing field echoes the object that lacks it.
    const path = item.type === 'missing' ? item.loc.slice(1, -1) : item.loc.slice(1)
    return { ...item, input: valueAt(body, path) }
  })
}

/** A double cannot represent sixteen digits or three-digit exponents exactly. */
const maybeInexact = /[0-9]{16}|[eE]\+?[0-9]{3}/

const keepExact: Reviver = (_key, value, { source }) => {
  if (typeof value !== 'number' || source === undefined) return value
  const isInteger = /^-?[0-9]+$/.test(source)
  if (Number.isFinite(value) && (!isInteger || Number.isSafeInteger(value))) return value
  return rawJSON(source)
}

function valueAt(body: unknown, path: readonly (string | number)[]): unknown {
  let value = body
  for (const key of path) value = (value as Record<string | number, unknown>)[key]
  return value
}
