import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { testCommand } from '../testing/command.ts'
import { profilesPath } from './profiles.ts'

const key = 'svc_sand_0123456789abcdefghij'
const otherKey = 'svc_prod_zyxwvutsrqponmlkjihg'

test('Without --url, a profile is for the service of PURSER_URL, or of the folder', async (context) => {
  const { add, folder } = withProfiles(context)
  writeFileSync(join(folder, '.env'), 'PURSER_PORT=18080\n')
  assert.match((await add(key, 'here')).output, /^Saved here for http:\/\/127\.0\.0\.1:18080 in /)
  writeFileSync(join(folder, '.env'), 'PURSER_PORT=0\n')
  assert.match(
    (await add(key, 'other')).errors,
    /PURSER_PORT is not a fixed port; name the service with --url/,
  )
  const elsewhere = withProfiles(context, { PURSER_URL: 'https://purser.example.com' })
  assert.match(
    (await elsewhere.add(key, 'prod')).output,
    /^Saved prod for https:\/\/purser\.example\.com in /,
  )
})

test('A profile that another command saves during the prompt is kept', async (context) => {
  const { add, purser, purserWith } = withProfiles(context)
  const readSecret = async () => {
    await add(otherKey, 'other', '--url', 'https://purser.example.com')
    return key
  }
  assert.equal((await purserWith({ readSecret }, 'profile', 'add', 'local')).code, 0)
  const listed = JSON.parse((await purser('profile', 'list', '--json')).output) as { name: string }[]
  assert.deepEqual(
    listed.map(({ name }) => name),
    ['other', 'local'],
  )
})

test('A profile that another command is saving at the same moment is kept', async (context) => {
  const { purser, purserWith, path } = withProfiles(context)
  const other = { url: 'https://purser.example.com', key: otherKey }
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.new`, JSON.stringify({ current: 'other', profiles: { other } }), { mode: 0o600 })
  const readSecret = () => {
    setImmediate(() => renameSync(`${path}.new`, path))
    return Promise.resolve(key)
  }
  assert.equal((await purserWith({ readSecret }, 'profile', 'add', 'local')).code, 0)
  const listed = JSON.parse((await purser('profile', 'list', '--json')).output) as { name: string }[]
  assert.deepEqual(
    listed.map(({ name }) => name),
    ['other', 'local'],
  )
})

test('A command that was killed while it saved profiles is reported, with the remedy', async (context) => {
  const { add, path } = withProfiles(context)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.new`, '')
  const { code, errors } = await add(key, 'local')
  assert.equal(code, 1)
  assert.match(errors, /profiles\.json\.new exists, .*; if none is running, remove that file\.?$/)
})

test('Profiles are saved, listed without their keys, selected and removed', async (context) => {
  const { add, purser } = withProfiles(context)
  assert.match(
    (await add(key, 'local')).output,
    /^Saved local for http:\/\/\S+ in .*profiles\.json; it is now the current profile\.\nThe key was not checked: purser doctor --profile local checks it\.$/,
  )
  assert.match(
    (await add(otherKey, 'prod', '--url', 'https://purser.example.com/')).output,
    /profiles\.json\.\nThe key was not checked: purser doctor --profile prod checks it\.$/,
  )
  const listed = await purser('profile', 'list')
  assert.deepEqual(
    listed.output.split('\n').map((line) => line.trimEnd()),
    [
      'NAME     URL                         KEY',
      '* local  http://127.0.0.1:8080       sandbox …ghij',
      '  prod   https://purser.example.com  production …jihg',
    ],
  )
  assert.equal((await purser('profile', 'use', 'prod')).output, 'prod is now the current profile.')
  assert.equal((await purser('profile', 'remove', 'prod')).output, 'Removed prod; its key still works.')
  const left = JSON.parse((await purser('profile', 'list', '--json')).output) as unknown
  assert.deepEqual(left, [
    {
      name: 'local',
      url: 'http://127.0.0.1:8080',
      environment: 'sandbox',
      key_hint: 'ghij',
      is_current: false,
    },
  ])
  assert.deepEqual((await purser('profile', 'use', 'prod')).code, 5)
})

test('No command ever shows the key of a profile', async (context) => {
  const { add, purser } = withProfiles(context)
  const said = [
    await add(key, 'local', '--json'),
    await add(key, 'local'),
    await add(otherKey, 'local', '--replace'),
    await purser('profile', 'list', '--json'),
    await purser('profile', 'use', 'local', '--json'),
    await purser('doctor', '--profile', 'local', '--json'),
    await purser('profile', 'remove', 'local', '--json'),
  ]
  for (const { output, errors } of said) {
    assert.doesNotMatch(output + errors, new RegExp(`${key}|${otherKey}`))
  }
})

test('The profile file is private and written atomically, under XDG_CONFIG_HOME', async (context) => {
  const { add, folder, path } = withProfiles(context)
  await add(key, 'local')
  await add(otherKey, 'prod')
  assert.equal(path, join(folder, 'config/purser/profiles.json'))
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(dirname(path)).mode & 0o777, 0o700)
  assert.deepEqual(readdirSync(dirname(path)), ['profiles.json'])
  assert.equal(
    profilesPath({ environment: {}, homeFolder: '/home/a' }),
    '/home/a/.config/purser/profiles.json',
  )
  assert.equal(
    profilesPath({ environment: { XDG_CONFIG_HOME: 'relative' }, homeFolder: '/home/a' }),
    '/home/a/.config/purser/profiles.json',
  )
})

test('A profile file that others can read is rejected, with exit code 4', async (context) => {
  const { add, purser, path } = withProfiles(context)
  await add(key, 'local')
  for (const mode of [0o640, 0o604, 0o660]) {
    chmodSync(path, mode)
    const { code, output, errors } = await purser('agents', 'list')
    assert.deepEqual([code, output], [4, ''])
    assert.match(errors, /contains keys and can be read by others; fix it with: chmod 600 /)
    assert.equal((await purser('profile', 'list')).code, 4)
  }
})

test('A damaged profile file is reported, and not changed', async (context) => {
  const { add, purser, path } = withProfiles(context)
  mkdirSync(dirname(path), { recursive: true })
  for (const text of ['{', '[]', '{"profiles":{"a":{"url":1}}}', '']) {
    writeFileSync(path, text, { mode: 0o600 })
    assert.match((await purser('profile', 'list')).errors, /profiles\.json is damaged; move it away/)
    assert.equal((await add(key, 'local')).code, 1)
    assert.equal(readFileSync(path, 'utf8'), text)
  }
})

const wrong: readonly (readonly [what: string, key: string, words: readonly string[], error: RegExp])[] = [
  ['no key', 'hunter2', ['local'], /^this is not a Purser key: keys begin with svc_sand_ or svc_prod_/],
  ['a key of two words', `${key} x`, ['local'], /^this is not a Purser key/],
  ['a name with a slash', key, ['../local'], /^A name has letters, digits/],
  ['an invalid URL', key, ['local', '--url', 'localhost'], /^--url must be a URL such as http/],
  ['another scheme', key, ['local', '--url', 'ftp://a'], /^--url must be a URL such as http/],
  ['a password', key, ['local', '--url', 'http://a:b@c'], /^--url must be a URL without user/],
]
for (const [what, text, words, error] of wrong) {
  test(`profile add refuses ${what}, and saves nothing`, async (context) => {
    const { add, purser } = withProfiles(context)
    const { code, errors } = await add(text, ...words)
    assert.equal(code, 2)
    assert.match(errors, error)
    assert.equal((await purser('profile', 'list', '--json')).output, '[]')
  })
}

test('A profile is replaced only with --replace', async (context) => {
  const { add, purser } = withProfiles(context)
  await add(key, 'local')
  assert.match((await add(otherKey, 'local')).errors, /profile local already exists; --replace replaces it/)
  assert.match((await purser('profile', 'list')).output, /…ghij/)
  await add(otherKey, 'local', '--replace')
  assert.match((await purser('profile', 'list')).output, /…jihg/)
})

test('Saving a key for a URL without https causes a warning, except on this machine', async (context) => {
  const { add } = withProfiles(context)
  assert.match(
    (await add(key, 'far', '--url', 'http://purser.example.com')).errors,
    /is not https: the key is sent/,
  )
  for (const url of [
    'http://localhost:1',
    'http://[::1]:1',
    'http://127.0.0.1:1',
    'https://purser.example.com',
  ]) {
    assert.equal((await add(key, 'near', '--replace', '--url', url)).errors, '')
  }
})

/** The command with its own profiles file, and `profile add` with a key from a pipe. */
function withProfiles(context: TestContext, environment: Record<string, string> = {}) {
  const command = testCommand(context, environment)
  command.environment['XDG_CONFIG_HOME'] = join(command.folder, 'config')
  return {
    ...command,
    path: profilesPath({ environment: command.environment, homeFolder: command.folder }),
    add: (text: string, ...words: readonly string[]) =>
      command.purserWith({ readSecret: () => Promise.resolve(text) }, 'profile', 'add', ...words),
  }
}
