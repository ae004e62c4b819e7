import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createContext, runInContext } from 'node:vm'

import { publint } from 'publint'

import { startTestService } from '../../service/testing/service.ts'
import { projectFolder } from '../source-files.ts'
import { bundle, gzippedBytes } from './bundle.ts'
import type { Manifest } from './manifest.ts'
import { packAll, type Packed } from './pack.ts'
import { publishedPackages } from './packages.ts'
import { addProgram, installInto } from './project.ts'
import { olderNode, olderTypeScript, run } from './run.ts'

const folder = mkdtempSync(join(tmpdir(), 'purser-packed-'))
const cleaning: (() => void)[] = [() => rmSync(folder, { recursive: true, force: true })]
let packed: Packed[]
let project: string

before(async () => {
  packed = await packAll(folder)
  project = await installInto({ after: (clean) => void cleaning.push(clean) }, packed)
})
after(() => cleaning.forEach((clean) => clean()))

const typeScripts = { '7': join(projectFolder, 'node_modules/.bin/tsc'), '5.9': olderTypeScript }
const nodes = { '24': process.execPath, '22': olderNode }

describe('What others install', () => {
  test('is built with the releases that the tests name [decision.92]', async () => {
    for (const [release, program] of [...Object.entries(typeScripts), ...Object.entries(nodes)]) {
      assert.match(
        await run(program, ['--version'], { cwd: project }),
        new RegExp(`^(Version |v)${release}\\.`),
      )
    }
  })

  for (const { name, mayDepend } of publishedPackages) {
    test(`${name} has a clean package, and the dependencies that it may have [decision.92]`, async () => {
      const { folder: staged } = packed.find((one) => one.name === name) ?? assert.fail(name)
      const { messages } = await publint({ pkgDir: staged, strict: true })
      assert.deepEqual(messages, [])
      const installed = join(project, 'node_modules', name)
      const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Manifest
      if (!mayDepend) assert.equal(manifest.dependencies, undefined)
      assert.equal(manifest['devDependencies'], undefined)
    })
  }

  for (const { name, command } of publishedPackages) {
    if (!command) continue
    test(`the command of ${name} runs under both releases of Node [decision.92]`, async () => {
      const parameters = [join(project, 'node_modules', name, command.file), ...command.parameters]
      for (const program of Object.values(nodes)) {
        assert.match(await run(program, parameters, { cwd: project }), /\w/)
      }
    })
  }

  for (const { platform, bundles } of publishedPackages) {
    for (const { imports, maxGzipBytes } of bundles) {
      test(`${imports.join(' and ')} take at most ${maxGzipBytes} bytes [decision.92]`, async (context) => {
        const size = gzippedBytes(await bundle(project, imports, platform))
        context.diagnostic(`${size} bytes, minified and gzipped`)
        assert.ok(size > 500 && size <= maxGzipBytes, `${size} bytes`)
      })
    }
  }
})

const web = { lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'] }
const node = { lib: ['es2022'], types: ['node'], typeRoots: [join(projectFolder, 'node_modules/@types')] }
const bundler = { module: 'esnext', moduleResolution: 'bundler' }
const settings = {
  any: [
    ['by the rules of Node, with the types of the web', { module: 'nodenext', ...web }],
    ['by the rules of bundlers, with the types of the web', { ...bundler, ...web }],
    ['by the rules of Node, with the types of Node', { module: 'nodenext', ...node }],
  ],
  node: [
    ['by the rules of Node', { module: 'nodenext', ...node }],
    ['by the rules of bundlers', { ...bundler, ...node }],
  ],
} as const

for (const { platform, programs } of publishedPackages) {
  for (const program of programs) {
    describe(`consumers/${program}, elsewhere`, () => {
      for (const [release, tsc] of Object.entries(typeScripts)) {
        for (const [title, compilerOptions] of settings[platform]) {
          test(`compiles under strict with TypeScript ${release}, ${title} [decision.92]`, async () => {
            addProgram(project, program, compilerOptions)
            await run(tsc, ['-p', project], { cwd: project })
          })
        }
      }

      for (const [release, nodeProgram] of Object.entries(nodes)) {
        test(`does its work under Node ${release} [decision.92]`, async (context) => {
          const service = await startTestService(context)
          addProgram(project, program, {})
          const environment = {
            PURSER_URL: service.url,
            PURSER_KEY: service.sandboxKey,
            NODE_NO_WARNINGS: '1',
          }
          assert.equal(await run(nodeProgram, [program], { cwd: project, environment }), 'done\n')
        })
      }
    })
  }
}

/** What a call needs; a fetch that pays needs `Request` and its like besides. */
const webNames = [
  'AbortController',
  'clearTimeout',
  'crypto',
  'fetch',
  'Headers',
  'setTimeout',
  'URL',
  'URLSearchParams',
] as const

test('@purser/client runs where there is nothing but what the web has [decision.92]', async (context) => {
  const service = await startTestService(context)
  const options = { apiKey: service.sandboxKey, baseUrl: service.url }
  const world = createContext(Object.fromEntries(webNames.map((name) => [name, globalThis[name]])))
  Object.assign(world, { options })
  runInContext(await bundle(project, ['@purser/client']), world)
  const program =
    'new bundled.part0.Purser(options).agents.list().page().then((page) => JSON.stringify(page))'
  assert.equal(await runInContext(program, world), '{"items":[],"nextCursor":null}')
})
