import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { parse } from 'yaml'

import { readConfig } from '../service/src/settings/config.ts'
import { openSqliteFile } from '../service/src/store/ledger/sqlite/open.ts'
import { nameFaults } from '../service/src/settings/names.ts'
import { projectFolder } from '../tools/source-files.ts'

const deployFolder = join(projectFolder, 'deploy')

describe('The systemd units', { skip: isMissing('systemd-analyze') }, () => {
  test('have no errors, with the drop-in for PostgreSQL and without it', (context) => {
    const unit = copyUnits()
    context.after(() => rmSync(join(unit, '..'), { recursive: true, force: true }))
    assert.equal(analyze('verify', '--man=no', unit), '')
    rmSync(`${unit}.d`, { recursive: true })
    assert.equal(analyze('verify', '--man=no', unit), '')
  })

  test('expose little of the machine to the service: an exposure of at most 2 of 10', () => {
    const unit = join(deployFolder, 'systemd/purser.service')
    assert.match(analyze('security', '--offline=true', '--threshold=20', unit), /exposure level/)
  })

  test('send SIGTERM to the primary alone: a worker that is starting would end with an error', () => {
    const unit = readFileSync(join(deployFolder, 'systemd/purser.service'), 'utf8')
    assert.match(unit, /^KillMode=mixed$/m)
    assert.match(unit, /^KillSignal=SIGTERM$/m)
  })

  test('set only settings that exist', () => {
    const texts = ['purser.service', 'purser.service.d/postgresql.conf'].map((path) =>
      readFileSync(join(deployFolder, 'systemd', path), 'utf8'),
    )
    const names = texts.join('\n').match(/PURSER_\w+(?==)/g) ?? []
    assert.ok(names.length >= 2)
    assert.deepEqual(nameFaults(names), [])
  })
})

test('The backup of the guide works in a crontab, where % ends a command and PATH is short', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-cron-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  openSqliteFile(join(folder, 'purser.db')).close()
  const guide = readFileSync(join(projectFolder, 'docs/guides/operators.md'), 'utf8')
  const [, line = ''] = /^(?:\S+ ){5}(.*purser backup .*)$/m.exec(guide) ?? []
  assert.notEqual(line, '')
  const [, own = ''] = /^install -d .*--owner=purser .*?(\/\S+)$/m.exec(guide) ?? []
  assert.ok(
    line.includes(`"${own}/purser-`),
    'the user of the crontab may write to the folder of the backups',
  )
  // Like cron: an escaped % is a %, and any other ends the command.
  const [command = ''] = line.split(/(?<!\\)%/)
  const here = command
    .replaceAll('\\%', '%')
    .replaceAll('/opt/purser', projectFolder)
    .replaceAll('/var/lib/purser', folder)
    .replaceAll(own, folder)
  const env = { PATH: '/usr/bin:/bin', HOME: folder, SHELL: '/bin/sh' }
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', here], {
    cwd: folder,
    env,
    encoding: 'utf8',
  })
  assert.deepEqual([status, stderr], [0, ''])
  assert.match(stdout, /Every sum agrees with its records/)
  assert.ok(readdirSync(folder).some((name) => /^purser-\d{4}-\d\d-\d\d\.db$/.test(name)))
})

interface Compose {
  readonly services: Readonly<Record<'postgres' | 'purser', Service>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
  readonly volumes: Readonly<Record<string, unknown>>
}

interface Service {
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly environment: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
  readonly volumes: readonly string[]
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly ports?: readonly string[]
  readonly read_only?: boolean
}

/** What the guide's commands create in an empty Debian, without running systemd. */
test('The commands of the guide install the units on a machine that has only the folders of systemd', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-etc-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'etc/systemd/system'), { recursive: true })
  const guide = readFileSync(join(projectFolder, 'docs/guides/operators.md'), 'utf8')
  const blocks = [...guide.matchAll(/^```sh\n([^`]*deploy\/systemd\/[^`]*)```/gm)].map(
    ([, block = '']) => block,
  )
  const stubs = ['systemctl', 'systemd-sysusers', 'journalctl'].map((name) => `${name}() { :; }`)
  const script = ['set -e', ...stubs, ...blocks].join('\n')
  const here = script.replaceAll('/opt/purser', projectFolder).replaceAll(/(?<= )\/etc\//g, `${folder}/etc/`)
  const { status, stderr } = spawnSync('bash', ['--norc', '-c', here], {
    encoding: 'utf8',
    cwd: projectFolder,
  })
  assert.deepEqual([status, stderr], [0, ''])
  const installed = [
    'sysusers.d/purser.conf',
    'systemd/system/purser.service',
    'systemd/system/purser.service.d/postgresql.conf',
  ]
  for (const path of installed) assert.ok(existsSync(join(folder, 'etc', path)), path)
})

describe('compose.yaml', () => {
  const compose = parse(readFileSync(join(deployFolder, 'compose.yaml'), 'utf8')) as Compose
  const { postgres, purser } = compose.services

  test('builds our Dockerfile, and sets only settings that exist', () => {
    assert.ok(purser.build)
    const context = join(deployFolder, purser.build.context)
    assert.ok(existsSync(join(context, purser.build.dockerfile)))
    assert.deepEqual(nameFaults(Object.keys(purser.environment)), [])
  })

  test('gives the service its database, whatever the image sets', (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'purser-secrets-'))
    context.after(() => rmSync(folder, { recursive: true, force: true }))
    const url = 'postgresql://purser:secret@postgres/purser'
    writeFileSync(join(folder, 'purser_database'), url)
    const environment = Object.fromEntries(
      Object.entries({ ...readImageEnvironment(), ...purser.environment }).map(([name, value]) => [
        name,
        value.replace('/run/secrets', folder),
      ]),
    )
    const reading = readConfig([], environment, folder)
    assert.ok('config' in reading, JSON.stringify(reading))
    assert.deepEqual(reading.config.database, { kind: 'postgres', url })
  })

  test('starts the service when the database answers over the network, not only on its socket', () => {
    assert.match(postgres.healthcheck?.test.join(' ') ?? '', /pg_isready --host 127\.0\.0\.1 /)
    assert.equal(purser.depends_on?.['postgres']?.condition, 'service_healthy')
  })

  test('declares every secret and volume that it uses, and mounts secrets as files', () => {
    for (const { secrets, volumes, environment } of [postgres, purser]) {
      for (const secret of secrets) assert.ok(secret in compose.secrets, secret)
      for (const volume of volumes) assert.ok((volume.split(':')[0] ?? '') in compose.volumes, volume)
      for (const [name, value] of Object.entries(environment)) {
        if (value.startsWith('/run/secrets/')) assert.match(name, /_FILE$/)
        else assert.doesNotMatch(name, /PASSWORD|SECRET|KEY/)
      }
    }
  })

  test('gets secrets that the service can read, whatever the umask, and other users cannot reach', (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'purser-compose-'))
    context.after(() => rmSync(folder, { recursive: true, force: true }))
    const guide = readFileSync(join(projectFolder, 'docs/guides/operators.md'), 'utf8')
    const [, commands = ''] = /^(mkdir -p deploy\/secrets [^`]*?)^docker compose/m.exec(guide) ?? []
    const { status, stderr } = spawnSync('sh', ['-c', `umask 077; ${commands}`], {
      cwd: folder,
      encoding: 'utf8',
    })
    assert.deepEqual([status, stderr], [0, ''])
    const modeOf = (path: string) => statSync(join(folder, 'deploy', path)).mode & 0o777
    const files = Object.values(compose.secrets).map(({ file }) => file)
    assert.deepEqual(files.map(modeOf), [0o644, 0o644])
    assert.equal(modeOf('secrets'), 0o700)
  })

  test('publishes the service on this machine only, with a read-only root', () => {
    assert.deepEqual(postgres.ports, undefined)
    assert.deepEqual(purser.ports, ['127.0.0.1:8080:8080'])
    assert.equal(purser.read_only, true)
  })
})

/** The variables that our Dockerfile sets in the image. */
function readImageEnvironment(): Record<string, string> {
  const text = readFileSync(join(deployFolder, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ')
  const pairs = [...text.matchAll(/^ENV (.*)$/gm)].flatMap(([, line = '']) => line.trim().split(/\s+/))
  return Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2) as [string, string]))
}

/** The units of the project, with this checkout's paths instead of /opt/purser. */
function copyUnits(): string {
  const folder = mkdtempSync(join(tmpdir(), 'purser-units-'))
  cpSync(join(deployFolder, 'systemd'), folder, { recursive: true })
  const unit = join(folder, 'purser.service')
  writeFileSync(unit, readFileSync(unit, 'utf8').replaceAll('/opt/purser', projectFolder))
  return unit
}

function analyze(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8', timeout: 30_000 })
  assert.equal(status, 0, `${stdout}${stderr}`)
  return stdout + stderr
}

function isMissing(program: string): string | false {
  return spawnSync(program, ['--version']).error ? `${program} is not installed` : false
}
