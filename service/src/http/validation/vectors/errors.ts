import { absent, type Errors, type Wrong } from './vector.ts'

export const missing: Wrong = { type: 'missing', msg: 'Field required' }
export const notText: Wrong = { type: 'string_type', msg: 'Input should be a valid string' }
export const notList: Wrong = { type: 'list_type', msg: 'Input should be a valid list' }
export const notDict: Wrong = { type: 'dict_type', msg: 'Input should be a valid dictionary' }
export const notObject: Wrong = {
  type: 'model_attributes_type',
  msg: 'Input should be a valid dictionary or object to extract fields from',
}
export const notUsdc = literal("'USDC'")
export const notDateTime: Wrong = { type: 'datetime_type', msg: 'Input should be a valid datetime' }
export const withoutZone: Wrong = { type: 'timezone_aware', msg: 'Input should have timezone info' }
export const notUrl: Wrong = { type: 'url_type', msg: 'URL input should be a string or URL' }
export const notUuid: Wrong = {
  type: 'uuid_type',
  msg: 'UUID input should be a string, bytes or UUID object',
}
export const notWeb: Wrong = {
  type: 'url_scheme',
  msg: "URL scheme should be 'http' or 'https'",
  ctx: { expected_schemes: "'http' or 'https'" },
}
export const notAmount: Wrong = {
  type: 'string_pattern_mismatch',
  msg: "String should match pattern '^[0-9]+(\\.[0-9]{1,6})?$'",
  ctx: { pattern: '^[0-9]+(\\.[0-9]{1,6})?$' },
}

export function literal(expected: string): Wrong {
  return { type: 'literal_error', msg: `Input should be ${expected}`, ctx: { expected } }
}

export function badDateTime(error: string): Wrong {
  return {
    type: 'datetime_from_date_parsing',
    msg: `Input should be a valid datetime or date, ${error}`,
    ctx: { error },
  }
}

export function badUrl(error: string): Wrong {
  return { type: 'url_parsing', msg: `Input should be a valid URL, ${error}`, ctx: { error } }
}

export function badUuid(error: string): Wrong {
  return { type: 'uuid_parsing', msg: `Input should be a valid UUID, ${error}`, ctx: { error } }
}

export function badEmail(reason: string): Wrong {
  return { type: 'value_error', msg: `value is not a valid email address: ${reason}`, ctx: { reason } }
}

/** The rest of a row about one missing field. */
export function without(field: string): [Record<string, unknown>, Errors] {
  return [{ [field]: absent }, { [field]: missing }]
}
