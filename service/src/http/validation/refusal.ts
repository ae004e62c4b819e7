import type { ValidationItem } from '@purser/wire/errors'

/** A reader returns the value of the input, or a `Refusal`. */
export type Reader = (input: unknown) => unknown

/** The errors of an input. Their locations are relative to it until its containers are known. */
export class Refusal {
  readonly items: ValidationItem[]

  constructor(items: ValidationItem[]) {
    this.items = items
  }

  /** The same errors, relative to the container that has the input under this key. */
  under(key: string | number): this {
    for (const item of this.items) item.loc.unshift(key)
    return this
  }

  /** These errors, followed by those of another refusal. */
  and(next: Refusal): this {
    for (const item of next.items) this.items.push(item)
    return this
  }
}

/**
 * The message for each type of error. A name in braces is replaced from the error's context; `{s}` makes a plural of
 * the first number in it.
 */
const messages = {
  missing: 'Field required',
  extra_forbidden: 'Extra inputs are not permitted; this takes {known}',
  json_invalid: 'JSON decode error',
  model_attributes_type: 'Input should be a valid dictionary or object to extract fields from',
  dict_type: 'Input should be a valid dictionary',
  list_type: 'Input should be a valid list',
  too_long: '{field_type} should have at most {max_length} item{s} after validation, not {actual_length}',
  bool_type: 'Input should be a valid boolean',
  int_type: 'Input should be a valid integer',
  int_parsing: 'Input should be a valid integer, unable to parse string as an integer',
  int_parsing_size: 'Unable to parse input string as an integer, exceeded maximum size',
  greater_than: 'Input should be greater than {gt}',
  greater_than_equal: 'Input should be greater than or equal to {ge}',
  less_than_equal: 'Input should be less than or equal to {le}',
  literal_error: 'Input should be {expected}',
  string_type: 'Input should be a valid string',
  string_unicode: 'Input should be a valid string, unable to parse raw data as a unicode string',
  string_too_short: 'String should have at least {min_length} character{s}',
  string_too_long: 'String should have at most {max_length} character{s}',
  string_pattern_mismatch: "String should match pattern '{pattern}'",
  decimal_whole_digits:
    'Decimal input should have no more than {whole_digits} digit{s} before the decimal point',
  datetime_type: 'Input should be a valid datetime',
  datetime_parsing: 'Input should be a valid datetime, {error}',
  datetime_from_date_parsing: 'Input should be a valid datetime or date, {error}',
  timezone_aware: 'Input should have timezone info',
  url_type: 'URL input should be a string or URL',
  url_parsing: 'Input should be a valid URL, {error}',
  url_scheme: 'URL scheme should be {expected_schemes}',
  url_too_long: 'URL should have at most {max_length} character{s}',
  uuid_type: 'UUID input should be a string, bytes or UUID object',
  uuid_parsing: 'Input should be a valid UUID, {error}',
  value_error: 'Value error, {error}',
} as const satisfies Record<string, string>

export type ErrorType = keyof typeof messages

/** A refusal with one error, with the message from the table above. */
export function refuse(type: ErrorType, input: unknown, ctx?: Record<string, unknown>): Refusal {
  return new Refusal([errorOf(type, [], input, ctx)])
}

/** An error, with the message from the table above. */
export function errorOf(
  type: ErrorType,
  loc: ValidationItem['loc'],
  input: unknown,
  ctx?: Record<string, unknown>,
): ValidationItem {
  if (!ctx) return { type, loc, msg: messages[type], input }
  return { type, loc, msg: fill(messages[type], ctx), input, ctx }
}

/** No text of the ledger contains NUL: PostgreSQL cannot store it, and C programs treat it as the end. */
export function refuseNul(text: string): Refusal {
  return refuse('value_error', text, { error: 'NUL characters are not allowed' })
}

/** Text with half a surrogate pair cannot be encoded as UTF-8, so the echo shows U+FFFD instead. */
export function refuseIllFormed(text: string): Refusal {
  return refuse('string_unicode', text.toWellFormed())
}

function fill(template: string, ctx: Record<string, unknown>): string {
  return template.replace(/\{(\w+)\}/g, (_, word: string) => {
    if (word !== 's') return String(ctx[word])
    return Object.values(ctx).find((value) => typeof value === 'number') === 1 ? '' : 's'
  })
}
