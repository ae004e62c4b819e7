import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { testCommand } from '../testing/command.ts'
import { findKnownConnection } from './connection.ts'
import { changeProfiles } from './profiles.ts'

const profiles = {
  current: 'local',
  profiles: {
    local: { url: 'http://127.0.0.1:1', key: 'svc_sand_of_local' },
    prod: { url: 'https://purser.example.com', key: 'svc_prod_of_prod' },
  },
}

const cases: readonly (readonly [
  what: string,
  profile: string | undefined,
  environment: Record<string, string>,
  found: readonly [url: string, key: string | undefined],
])[] = [
  ['the current profile', undefined, {}, ['http://127.0.0.1:1', 'svc_sand_of_local']],
  ['the named profile', 'prod', {}, ['https://purser.example.com', 'svc_prod_of_prod']],
  [
    'the named profile, whatever the environment says',
    'prod',
    { PURSER_API_KEY: 'svc_sand_x', PURSER_URL: 'http://a' },
    ['https://purser.example.com', 'svc_prod_of_prod'],
  ],
  [
    'the environment before the current profile',
    undefined,
    { PURSER_API_KEY: 'svc_sand_x', PURSER_URL: 'http://a/path/' },
    ['http://a/path', 'svc_sand_x'],
  ],
  [
    'the default URL for a key from the environment',
    undefined,
    { PURSER_API_KEY: 'svc_sand_x' },
    ['http://127.0.0.1:8080', 'svc_sand_x'],
  ],
  [
    'the port of the service in this folder',
    undefined,
    { PURSER_API_KEY: 'svc_sand_x', PURSER_PORT: '18080' },
    ['http://127.0.0.1:18080', 'svc_sand_x'],
  ],
  [
    'the default URL if that port is another one at each start',
    undefined,
    { PURSER_API_KEY: 'svc_sand_x', PURSER_PORT: '0' },
    ['http://127.0.0.1:8080', 'svc_sand_x'],
  ],
  [
    "the current profile's key for its own address in the environment",
    undefined,
    { PURSER_URL: 'http://127.0.0.1:1/' },
    ['http://127.0.0.1:1', 'svc_sand_of_local'],
  ],
  [
    'no key of a profile for its address when another profile is the current one',
    undefined,
    { PURSER_URL: 'https://purser.example.com' },
    ['https://purser.example.com', undefined],
  ],
  [
    "no profile's key for an address of the environment",
    undefined,
    { PURSER_URL: 'http://a' },
    ['http://a', undefined],
  ],
  [
    'the current profile where the variables are empty',
    undefined,
    { PURSER_API_KEY: '', PURSER_URL: '' },
    ['http://127.0.0.1:1', 'svc_sand_of_local'],
  ],
]
for (const [what, profile, environment, [url, key]] of cases) {
  test(`URL and key come from one place: ${what}`, async (context) => {
    const found = findKnownConnection(profile, await placeWithProfiles(context, environment))
    assert.deepEqual([found.url, found.key], [url, key])
  })
}

test('A file of settings that cannot be read does not matter', async (context) => {
  const place = await placeWithProfiles(context, { PURSER_API_KEY: 'svc_sand_x' })
  mkdirSync(join(place.folder, '.env'))
  assert.equal(findKnownConnection(undefined, place).url, 'http://127.0.0.1:8080')
})

test('An unknown profile is reported, with the existing ones', async (context) => {
  const { environment, purser } = testCommand(context)
  Object.assign(environment, (await placeWithProfiles(context, {})).environment)
  const { code, errors } = await purser('agents', 'list', '--profile', 'staging')
  assert.equal(code, 2)
  assert.match(errors, /^There is no profile staging in .*profiles\.json: it has local, prod\n/)
})

test('Without a key the exit code is 4 and nothing is sent; at a terminal there is a prompt', async (context) => {
  const service = await shareTestService()
  const { purser, purserWith, environment } = testCommand(context)
  environment['PURSER_URL'] = service.url
  const { code, errors } = await purser('agents', 'list')
  assert.equal(code, 4)
  assert.match(
    errors,
    /there is no key for http:.*; set PURSER_API_KEY, or save one with purser profile add\.$/,
  )
  let asked = ''
  const readSecret = (question: string) => {
    asked = question
    return Promise.resolve(service.sandboxKey)
  }
  assert.equal((await purserWith({ canAsk: true, readSecret }, 'agents', 'list', '--json')).output, '[]')
  assert.equal(asked, `API key for ${service.url}`)
})

const keyless: readonly (readonly [
  what: string,
  environment: Record<string, string>,
  hasProfiles: boolean,
  error: RegExp,
])[] = [
  [
    'no profile and no variable',
    {},
    false,
    /there is no key for http:\/\/127\.0\.0\.1:8080; set PURSER_API_KEY, or save one with purser profile add\.$/,
  ],
  [
    'a profile that PURSER_URL hides',
    { PURSER_URL: 'http://127.0.0.1:2' },
    true,
    /there is no key for http:\/\/127\.0\.0\.1:2; PURSER_URL is set, so profile local \(http:\/\/127\.0\.0\.1:1\) is not used: unset PURSER_URL, or pass --profile local\.$/,
  ],
  [
    'the key that the service printed, under the name that it printed',
    { PURSER_SANDBOX_KEY: 'svc_sand_printed' },
    false,
    /there is no key for .*; PURSER_SANDBOX_KEY is what the service printed, and this command reads PURSER_API_KEY: export PURSER_API_KEY=\$PURSER_SANDBOX_KEY, or save it with purser profile add\.$/,
  ],
]
for (const [what, environment, hasProfiles, error] of keyless) {
  test(`The message for a missing key suggests a remedy: ${what}`, async (context) => {
    const command = testCommand(context, environment)
    const place = { calledAs: 'purser', environment, homeFolder: command.folder }
    if (hasProfiles) await changeProfiles(place, () => profiles)
    const { code, errors } = await command.purser('agents', 'list')
    assert.equal(code, 4)
    assert.match(errors, error)
    assert.doesNotMatch(errors, /svc_sand_/)
  })
}

const wrongSettings: readonly (readonly [environment: Record<string, string>, error: RegExp])[] = [
  [{ PURSER_API_KEY: 'svc_sand_a\n' }, /^PURSER_API_KEY contains whitespace or control characters/],
  [{ PURSER_URL: 'purser.example.com' }, /^PURSER_URL must be a URL such as http:/],
  [{ PURSER_URL: 'http://user:secret@a' }, /^PURSER_URL must be a URL without user, password/],
]
for (const [environment, error] of wrongSettings) {
  test(`An invalid setting is reported, not used: ${Object.keys(environment).join()}`, async (context) => {
    const { code, errors } = await testCommand(context, environment).purser('agents', 'list')
    assert.equal(code, 2)
    assert.match(errors, error)
    assert.doesNotMatch(errors, /secret/)
  })
}

const refused = [
  ['agents', 'list', '--api-key', 'svc_sand_abcdefghijkl'],
  ['agents', 'list', '--api-key=x'],
  ['agents', 'list', '--key', 'x'],
  ['agents', 'list', '--token', 'x'],
  ['--apikey', 'x', 'agents', 'list'],
  ['profile', 'add', 'local', 'svc_sand_abcdefghijkl'],
  ['agents', 'show', 'svc_prod_abcdefghijkl'],
  ['pay', 'https://a.example.com/?key=svc_sand_abcdefghijkl'],
]
for (const words of refused) {
  test(`A key on the command line is refused, with the reason: purser ${words.join(' ')}`, async (context) => {
    const { code, output, errors } = await testCommand(context).purser(...words)
    assert.deepEqual([code, output], [2, ''])
    assert.match(errors, /^A key does not belong on the command line: every user of this machine can see it/)
    assert.doesNotMatch(errors, /abcdefghijkl/)
  })
}

async function placeWithProfiles(context: TestContext, environment: Record<string, string>) {
  const { folder } = testCommand(context)
  const place = {
    calledAs: 'purser',
    environment: { ...environment, XDG_CONFIG_HOME: join(folder, 'config') },
    homeFolder: folder,
    folder,
  }
  await changeProfiles(place, () => profiles)
  return place
}
