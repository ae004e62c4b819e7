import { roles, type Role } from '@purser/wire/roles'
import type { Endpoint } from '@purser/wire/endpoint'
import { refusesUnknownParameters } from '@purser/wire/interface-endpoints'
import { endpoints } from '@purser/wire/openapi'

import { maxParameterLength } from '../../src/limits.ts'
import {
  contentTypes,
  hostileBodies,
  hostileNames,
  hostileTexts,
  hostileValue,
  own,
  strangeHeaders,
} from './hostile-values.ts'
import type { PlainRequest } from './plain-http.ts'
import { sampleBodies, type SampleRecords } from '../sample-records.ts'
import type { SeededRandom } from '../seeded-random.ts'

/** The targets of the requests. */
export interface Target {
  readonly keys: Readonly<Record<Role, string>>
  /** For a tenant with nothing to lose: a stop would end every proof that is to be verified. */
  readonly bystanderKey: string
  /** Keys that are revoked, mistyped or made up. */
  readonly badKeys: readonly [string, ...string[]]
  /** Records in use; these may be read, paid from and named. */
  readonly records: SampleRecords
  /** Spare records, by the name of their parameter; these may be revoked. */
  readonly spare: Readonly<Record<string, readonly [string, ...string[]]>>
  /** Verification requests that would succeed once each. */
  readonly verifications: readonly [object, ...object[]]
}

/** A request, and what is known in advance about its response. */
export interface HostileRequest extends PlainRequest {
  /** The endpoint that it reaches; undefined if its path, its method or invalid HTTP prevents that. */
  readonly endpoint: Endpoint | undefined
  /** The only correct status, if credentials, role or method determine it. */
  readonly mustBe: number | undefined
  readonly isValid: boolean
}

/** The request derived from the random source: valid, nearly valid or hostile, to any endpoint. */
export function hostileRequest(random: SeededRandom, target: Target): HostileRequest {
  const chance = (percent: number) => random.below(100) < percent
  const endpoint = random.pick(endpoints as [Endpoint, ...Endpoint[]])
  const isValid = chance(25)
  const { key, mustBe } = pickKey(random, target, endpoint, isValid)
  const headers: Record<string, string | string[]> = {}
  if (key !== undefined) headers['authorization'] = key
  const path = pathOf(random, target, endpoint, isValid) + queryOf(random, target, endpoint, isValid)
  const body = bodyOf(random, target, endpoint, isValid)
  if (body !== undefined) headers['content-type'] = 'application/json'
  if (isValid || chance(75)) Object.assign(headers, requiredHeaders(random, endpoint))
  const request = { method: endpoint.method, path, headers, body, endpoint, mustBe, isValid }
  if (isValid) return request

  if (chance(15)) setContentType(headers, random.pick(contentTypes))
  if (chance(25)) Object.assign(headers, random.pick(strangeHeaders))
  if (chance(10) && body !== undefined) headers['transfer-encoding'] = 'chunked'
  const ofHttp = { ...request, endpoint: undefined }
  // A path with non-ASCII characters is not a path.
  if (/[^\x21-\x7e]/.test(path)) return { ...ofHttp, mustBe: 400 }
  if (chance(3)) return elsewhere(random, ofHttp)
  if (chance(1)) return { ...ofHttp, headers: { ...headers, 'x-large': 'x'.repeat(20_000) }, mustBe: 431 }
  // What cannot be a path of the interface is answered before authentication.
  if (!isDecodable(path)) return { ...ofHttp, mustBe: 404 }
  return request
}

function requiredHeaders(random: SeededRandom, { errors }: Endpoint): Record<string, string> {
  return {
    ...(errors.includes('idempotency_key_required') && { 'idempotency-key': `key ${random.below(2 ** 31)}` }),
    ...(errors.includes('if_match_required') && { 'if-match': `"${1 + random.below(2)}"` }),
  }
}

/** Whether each part of the path is short enough to be an id. */
function isDecodable(path: string): boolean {
  const [address = ''] = path.split('?', 1)
  try {
    return address.split('/').every((part) => decodeURIComponent(part).length <= maxParameterLength)
  } catch {
    return false
  }
}

function pickKey(random: SeededRandom, target: Target, { id, roles: let_in }: Endpoint, isValid: boolean) {
  const refused = let_in === 'public' ? undefined : 401
  const kind = isValid ? 0 : random.below(20)
  if (kind === 19) return { key: undefined, mustBe: refused }
  if (kind === 18) return { key: `Bearer ${random.pick(target.badKeys)}`, mustBe: refused }
  if (kind === 17) {
    return {
      key: random.pick(['', 'Basic YTpi', 'Bearer', 'Bearer \xff', '\t', ' , Bearer x']),
      mustBe: refused,
    }
  }
  const known = let_in === 'public' ? roles : let_in
  const role = random.pick(kind > 14 ? roles : (known as unknown as [Role, ...Role[]]))
  const scheme = isValid ? 'Bearer' : random.pick(['Bearer', 'bearer', 'BEARER'])
  const isLetIn = let_in === 'public' || let_in.includes(role)
  const key = id === 'stopAgents' && isLetIn ? target.bystanderKey : target.keys[role]
  return { key: `${scheme} ${key}`, mustBe: isLetIn ? undefined : 403 }
}

/** Path parameters as they may appear in a URL, well formed or not. */
const strangeParameters: readonly [string, ...string[]] = [
  '',
  '%',
  '%ZZ',
  '%C0%80',
  '%ED%A0%80',
  '%FF',
  '%00',
  '%2F',
  '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
  '..',
  '.',
  '*',
  ':agent_id',
  ';a=b',
  '\xff\xfe',
  'x'.repeat(4_096),
  'x'.repeat(5_000),
  '%61'.repeat(1_500),
]

function pathOf(random: SeededRandom, target: Target, endpoint: Endpoint, isValid: boolean): string {
  return endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const kind = isValid ? 0 : random.below(4)
    if (kind === 0) {
      const isRead = endpoint.method === 'GET'
      const spare = target.spare[name]
      return isRead || !spare ? target.records[name as keyof SampleRecords] : random.pick(spare)
    }
    if (kind === 1) return random.pick(strangeParameters)
    if (kind === 2) {
      const others = Object.entries(target.records).filter(([other]) => other !== name)
      return random.pick(others.map(([, id]) => id) as [string, ...string[]])
    }
    return encodeURIComponent(random.pick(hostileTexts).toWellFormed().slice(0, 200))
  })
}

const strangeQueries: readonly [string, ...string[]] = [
  '?',
  '??',
  '?&&&=&=',
  '?%',
  '?%ZZ=%C0',
  '?limit',
  '?limit=',
  '?limit=1&limit=x',
  '?limit[]=1',
  '?limit=%ED%A0%80',
  '?__proto__=1&constructor=2&hasOwnProperty=3',
  '?__proto__[limit]=1',
  '?cursor=\xff',
  `?cursor=${'A'.repeat(3_000)}`,
  `?${'a=1&'.repeat(1_000)}`,
  '?access_token=x',
  '?%00=%00',
]

function queryOf(random: SeededRandom, target: Target, endpoint: Endpoint, isValid: boolean): string {
  const names = Object.keys(endpoint.query?.properties ?? {})
  const [first, ...others] = names
  if (first === undefined) return isValid || random.below(10) > 0 ? '' : random.pick(strangeQueries)
  if (isValid) {
    const limits = names.includes('limit') ? ['?limit=1', '?limit=200'] : []
    return random.pick(['', '', ...limits, ...(refusesUnknownParameters(endpoint) ? [] : ['?unknown=x'])])
  }
  if (random.below(3) === 0) return random.pick(strangeQueries)
  const ids = Object.values(target.records)
  const parts = Array.from({ length: random.below(4) }, () => {
    const value = random.pick([
      ...hostileTexts,
      'agent_1',
      ...ids,
      '1',
      '7',
      'paid',
      'denied',
      'agent.created',
    ])
    return `${random.pick([first, ...others])}=${encodeURIComponent(value.toWellFormed().slice(0, 200))}`
  })
  return parts.length > 0 ? `?${parts.join('&')}` : ''
}

const megabyte = Buffer.alloc(1024 * 1024, '[')

function bodyOf(
  random: SeededRandom,
  target: Target,
  endpoint: Endpoint,
  isValid: boolean,
): string | Buffer | undefined {
  if (!endpoint.body)
    return isValid || random.below(20) > 0 ? undefined : random.pick([...hostileBodies, megabyte])
  const sample = sampleOf(random, target, endpoint)
  if (isValid) return JSON.stringify(sample)
  switch (random.below(10)) {
    case 0:
      return random.below(10) === 0 ? megabyte : random.pick(hostileBodies)
    case 1:
      return broken(random, JSON.stringify(sample))
    case 2:
      return JSON.stringify(hostileValue(random))
    default:
      for (let count = random.below(3); count >= 0; count--) mutate(random, sample)
      return JSON.stringify(sample)
  }
}

function sampleOf(random: SeededRandom, target: Target, endpoint: Endpoint): Record<string, unknown> {
  if (['verify', 'authorize'].includes(endpoint.id) && random.below(2) === 0) {
    return structuredClone(random.pick(target.verifications)) as Record<string, unknown>
  }
  const { agent_id, mandate_id, nonce } = target.records
  const ids = endpoint.id === 'createApiKey' && random.below(2) === 0 ? {} : { agent_id, mandate_id, nonce }
  const sample = sampleBodies[endpoint.id as keyof typeof sampleBodies](ids) as Record<string, unknown>
  const unique = `${random.below(2 ** 31)}`
  if (endpoint.id === 'startSession') sample['api_key'] = target.keys.owner.replace(/^Bearer /, '')
  if (endpoint.id === 'createAccount') sample['idp_user_id'] = unique
  if (endpoint.id === 'createSeller') sample['domain'] = `shop${unique}.example.com`
  return sample
}

/** Changes one field of the value, or of an object within it. */
function mutate(random: SeededRandom, value: Record<string, unknown>): void {
  const names = Object.keys(value)
  const name = names[random.below(Math.max(1, names.length))] ?? '0'
  const inner = value[name]
  // A number with its exact spelling is a frozen object.
  const isOpen = typeof inner === 'object' && inner !== null && !Object.isFrozen(inner)
  if (isOpen && random.below(3) > 0) {
    return mutate(random, inner as Record<string, unknown>)
  }
  switch (random.below(5)) {
    case 0:
      delete value[name]
      return
    case 1:
      if (Array.isArray(value)) value.push(hostileValue(random))
      else own(value, random.pick(hostileNames), hostileValue(random))
      return
    case 2:
      own(value, name, random.pick(hostileTexts))
      return
    default:
      own(value, name, hostileValue(random))
  }
}

/** The text truncated, with changed bytes, with a duplicate field, or with junk around it. */
function broken(random: SeededRandom, text: string): string | Buffer {
  switch (random.below(5)) {
    case 0:
      return text.slice(0, random.below(text.length))
    case 1: {
      const bytes = Buffer.from(text)
      for (const byte of random.bytes(4)) bytes[random.below(bytes.length)] = byte
      return bytes
    }
    case 2:
      return text.replace('{', `{${text.slice(1, -1)},`)
    case 3:
      return text.replace(
        '{',
        `{${JSON.stringify(random.pick(hostileNames))}:${JSON.stringify(hostileValue(random))},`,
      )
    default:
      return random.pick([' ', '\ufeff', '\0', '//']) + text + random.pick(['', '\n', '\0', ','])
  }
}

/** The request with another method, or at a path that does not exist. */
function elsewhere(random: SeededRandom, request: HostileRequest): HostileRequest {
  const path = request.path.replace(/\?.*$/s, '')
  const lost = { ...request, mustBe: undefined }
  switch (random.below(4)) {
    case 0:
      return {
        ...lost,
        method: random.pick(['PUT', 'OPTIONS', 'HEAD', 'TRACE', 'PROPFIND', 'PURGE', 'QUERY']),
      }
    case 1:
      return { ...lost, path: `/v1${path}/x/y/z` }
    case 2:
      return {
        ...lost,
        path: random.pick(['/', '//', '/*', '/docs/%2e%2e/x', '/docs/static/..%2fx', '/OPENAPI.json']),
      }
    default:
      return { ...lost, path: path.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase()) }
  }
}

function setContentType(headers: Record<string, string | string[]>, contentType: string | undefined): void {
  delete headers['content-type']
  if (contentType !== undefined) headers['content-type'] = contentType
}
