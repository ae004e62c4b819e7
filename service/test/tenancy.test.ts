import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { test } from 'node:test'

import { roles, type Role } from '@purser/wire/roles'
import type { Endpoint } from '@purser/wire/endpoint'
import { environments, type Environment } from '@purser/wire/fields'
import { endpoints } from '@purser/wire/openapi'

import { sendPlain, type PlainAnswer, type PlainRequest } from '../testing/http/plain-http.ts'
import { prepareSampleRecords, sampleBodies, type SampleRecords } from '../testing/sample-records.ts'
import { createTenant, issueKey, startTestService, type TestService } from '../testing/service.ts'

type RecordName = keyof SampleRecords

/** One environment of one account: its records and a key of each of its roles. */
interface World {
  readonly title: string
  readonly account: string
  readonly environment: Environment
  readonly ownerKey: string
  readonly keys: Partial<Record<Role, string>>
  readonly records: SampleRecords
}

/** A place in a request that takes the id of a record. */
interface Place {
  readonly endpoint: Endpoint
  readonly where: 'path' | 'query' | 'body'
  /** The path of names to it: `['agent_id']`, or `['proof', 'mandateId']`. */
  readonly path: readonly string[]
}

const places = endpoints.flatMap(placesOf)
const lists = endpoints.filter(({ query }) => query && 'cursor' in query.properties)

test('Every place of the interface that takes an id has a sample record', () => {
  const known: Record<RecordName, true> = {
    account_id: true,
    key_id: true,
    agent_id: true,
    mandate_id: true,
    transaction_id: true,
    subject_id: true,
    nonce: true,
    session_id: true,
    domain: true,
    seller_id: true,
    stop_id: true,
    approval_id: true,
    budget_id: true,
  }
  const unknown = places.filter((place) => !Object.hasOwn(known, recordNameOf(place)))
  assert.deepEqual(unknown.map(titleOf), [], 'register a sample record in testing/sample-records.ts')
  const withParameter = endpoints.filter(({ path }) => path.includes('{'))
  const covered = new Set(places.filter(({ where }) => where === 'path').map(({ endpoint }) => endpoint.id))
  assert.deepEqual(covered, new Set(withParameter.map(({ id }) => id)))
  const withBody = endpoints.filter(({ body }) => body).map(({ id }) => id)
  assert.deepEqual(Object.keys(sampleBodies).sort(), withBody.sort(), 'register a sample body')
})

test('An id of another tenant or the other environment gets the same answer as an unknown id, byte for byte', async (t) => {
  const service = await startTestService(t)
  const worlds = await prepareWorlds(service)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const before = await Promise.all(worlds.map((world) => snapshot(service, world)))

  let compared = 0
  // An evaluation and a refused proof are recorded with the requested ids, so they run after everything that
  // could show them.
  const inOrder = [...places].sort((a, b) => Number(isRecorded(a)) - Number(isRecorded(b)))
  for (const place of inOrder) {
    for (const { caller, owner, role, key } of pairsOf(place, worlds)) {
      const real = owner.records[recordNameOf(place)]
      const unknown = unknownLike(real)
      const send = (id: string) => sendPlain(service.url, { ...requestOf(place, caller, id, key), agent })
      const title = `${caller.title} ${role} → ${owner.title}: ${titleOf(place)}`
      assert.deepEqual(seen(place, await send(real), real), seen(place, await send(unknown), unknown), title)
      compared++
    }
  }
  t.diagnostic(`${compared} pairs of answers compared, at ${places.length} places`)
  assert.ok(compared > 500)

  const after = await Promise.all(worlds.map((world) => snapshot(service, world)))
  assert.deepEqual(after, before, 'none of it changed any record')
})

test("One's own id gets a different answer than an unknown one, so the comparison can tell them apart", async (t) => {
  const service = await startTestService(t)
  const [world] = await prepareWorlds(service)
  assert.ok(world)
  for (const place of places) {
    // A DELETE or a revocation would remove the record needed by the places that follow.
    if (place.endpoint.method !== 'GET' || place.where !== 'path') continue
    const id = world.records[recordNameOf(place)]
    const { status } = await sendPlain(service.url, requestOf(place, world, id, world.ownerKey))
    assert.equal(status, 200, titleOf(place))
  }
})

test('Lists never show a record of another tenant or of the other environment', async (t) => {
  const service = await startTestService(t)
  const worlds = await prepareWorlds(service)
  for (const world of worlds) {
    for (const list of lists) {
      for (const role of roles) {
        const key = world.keys[role]
        if (key === undefined || !list.roles.includes(role)) continue
        const path = list.path.replaceAll(/\{(\w+)\}/g, (_, name: RecordName) => world.records[name])
        const { status, text, body } = await service.call('GET', `${path}?limit=200`, { key })
        const title = `${world.title} ${role}: ${list.path}`
        assert.equal(status, 200, title)
        if (role === 'owner') assert.ok(body.length > 0, `${title} shows its own records`)
        for (const other of worlds) {
          const isOfAccount = ['listApiKeys', 'listConsoleApiKeys', 'listSessions'].includes(list.id)
          // It is the list of all accounts.
          if (list.id === 'listAccounts') continue
          if (other === world || (isOfAccount && other.account === world.account)) continue
          for (const [name, id] of Object.entries(other.records)) {
            if (isShared(name as RecordName, world, other)) continue
            // The log of the operator who created an account names it.
            if (name === 'account_id' && list.id === 'listAuditEvents' && world.account === 'first') continue
            assert.ok(!text.includes(id), `${title} shows ${name} of ${other.title}`)
          }
        }
      }
    }
  }
})

/** Two accounts, each in both environments, each with a key of each role. */
async function prepareWorlds(service: TestService): Promise<World[]> {
  const second = await createTenant(service)
  const owners = {
    first: { sandbox: service.sandboxKey, production: service.productionKey },
    second: { sandbox: second.sandboxKey, production: second.productionKey },
  }
  const worlds: World[] = []
  for (const [account, keys] of Object.entries(owners)) {
    for (const environment of environments) {
      const ownerKey = keys[environment]
      const records = await prepareSampleRecords(service, ownerKey)
      const issue = (fields: object) => issueKey(service, { environment, ...fields }, ownerKey)
      worlds.push({
        title: `${account} ${environment}`,
        account,
        environment,
        ownerKey,
        records,
        keys: {
          ...(account === 'first' ? { operator: ownerKey } : {}),
          owner: await issue({ role: 'owner' }),
          agent: await issue({ role: 'agent', agent_id: records.agent_id }),
          merchant: await issue({ role: 'merchant' }),
          approver: await issue({ role: 'approver' }),
        },
      })
    }
  }
  return worlds
}

function placesOf(endpoint: Endpoint): Place[] {
  if (endpoint.roles === 'public') return []
  const at = (where: Place['where']) => (path: readonly string[]) => ({ endpoint, where, path })
  return [
    ...[...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => at('path')([name])),
    ...idsIn(endpoint.query).map(at('query')),
    ...idsIn(endpoint.body).map(at('body')),
  ]
}

/**
 * The fields of a schema that name one of our records: not the user of an identity provider, nor a position
 * in a feed.
 */
function idsIn(schema: object | undefined): string[][] {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, object> }
  return Object.entries(properties).flatMap(([name, field]) => {
    if (['idp_user_id', 'last_event_id', 'order_id'].includes(name)) return []
    if (/^nonce$|_id$|[a-z]Id$/.test(name)) return [[name]]
    return idsIn(field).map((path) => [name, ...path])
  })
}

function recordNameOf({ path }: Place): RecordName {
  const last = path.at(-1) ?? ''
  const name = ['parent_id', 'expected_budget_id'].includes(last) ? 'budget_id' : last
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as RecordName
}

function titleOf({ endpoint, where, path }: Place): string {
  return `${endpoint.method} ${endpoint.path} ${where} ${path.join('.')}`
}

/** Every key that reaches the place, with every world whose records it must not see there. */
function pairsOf(place: Place, worlds: readonly World[]) {
  const name = recordNameOf(place)
  return worlds.flatMap((caller) =>
    worlds.flatMap((owner) => {
      if (caller === owner || isShared(name, caller, owner)) return []
      return roles.flatMap((role) => {
        const key = caller.keys[role]
        if (key === undefined || !place.endpoint.roles.includes(role)) return []
        // An operator issues keys for every account, so it may know which ones exist, and releases the
        // domains of all.
        const isOperators =
          name === 'account_id' || (name === 'domain' && caller.environment === owner.environment)
        return role === 'operator' && isOperators ? [] : [{ caller, owner, role, key }]
      })
    }),
  )
}

function isRecorded({ endpoint }: Place): boolean {
  return endpoint.id === 'evaluate' || endpoint.id === 'issueProof'
}

/** The account itself belongs to no environment, and its keys are managed in one place. */
function isShared(name: RecordName, one: World, other: World): boolean {
  return one.account === other.account && ['account_id', 'key_id', 'session_id'].includes(name)
}

/** A request of the caller in which everything is its own except the id at the place. */
function requestOf({ endpoint, where, path }: Place, caller: World, id: string, key: string): PlainRequest {
  const [name = ''] = path
  const headers = { authorization: `Bearer ${key}` }
  const address = endpoint.path.replaceAll(/\{\w+\}/g, encodeURIComponent(id))
  const { method } = endpoint
  if (where === 'query') return { method, path: `${address}?${name}=${encodeURIComponent(id)}`, headers }
  if (!endpoint.body) return { method, path: address, headers }
  const sample = sampleBodies[endpoint.id as keyof typeof sampleBodies]
  const body = sample(endpoint.id === 'createApiKey' ? {} : caller.records) as Record<string, unknown>
  if (endpoint.id === 'createApiKey') {
    // Keys are managed for both environments: the caller's own are compared.
    body['environment'] = caller.environment
    if (where === 'body' && name === 'agent_id') body['role'] = 'agent'
  }
  // Only a payment that needs approval reads the one it is given.
  if (name === 'approval_id') body['amount'] = '6.00'
  return {
    method,
    path: address,
    headers: { ...headers, 'content-type': 'application/json', ...ifMatchOf(endpoint) },
    body: JSON.stringify(where === 'body' ? withId(body, path, id) : body),
  }
}

function withId(body: Record<string, unknown>, path: readonly string[], id: string): object {
  const [name = '', ...rest] = path
  return { ...body, [name]: rest.length > 0 ? withId(body[name] as Record<string, unknown>, rest, id) : id }
}

/** A valid id that does not exist. */
function unknownLike(id: string): string {
  return id.includes('-') ? `${id.slice(0, -6)}ffffff` : `${id.slice(0, -6)}zzzzzz`
}

/**
 * Everything that a caller sees of an answer except its date and random request id, with a placeholder for
 * the echoed id.
 */
function seen(place: Place, { status, headers, text }: PlainAnswer, id: string): unknown {
  const { date: _, 'x-request-id': __, ...others } = headers
  const withoutId = text.replaceAll(id, '<the id>')
  const newId = /"transaction_id":"txn_\w{26}"/
  const body = isRecorded(place) ? withoutId.replace(newId, '"transaction_id":"<new>"') : withoutId
  return { status, headers: others, body }
}

/** The version of an unchanged record, where one is required. */
function ifMatchOf({ errors }: Endpoint): Record<string, string> {
  return errors.includes('if_match_required') ? { 'if-match': '"1"' } : {}
}

/** The records of a world as its owner sees them. */
async function snapshot(
  service: TestService,
  { ownerKey: key, records, environment }: World,
): Promise<unknown> {
  const paths = [
    '/accounts/api-keys?limit=200',
    '/agents',
    '/mandates',
    '/sellers',
    `/v1/transactions/${records.transaction_id}`,
    ...(environment === 'sandbox' ? [`/v1/payments/proofs/${records.nonce}`] : []),
  ]
  return Promise.all(
    paths.map(async (path) => {
      const { status, body } = await service.call('GET', path, { key })
      assert.equal(status, 200, path)
      return body
    }),
  )
}
