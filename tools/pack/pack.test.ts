import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { createContext, runInContext } from 'node:vm'

import { publint } from 'publint'
import ts from 'typescript'

import { shareTestService } from '../../service/testing/shared-service.ts'
import { projectFolder } from '../source-files.ts'
import { bundle, gzippedBytes } from './bundle.ts'
import type { Manifest } from './manifest.ts'
import type { Packed } from './pack.ts'
import { packOnce } from './packed.ts'
import { publishedPackages, type PublishedPackage } from './packages.ts'
import { addProgram, compile, compileWithOlder, installInto, ownPackagesIn } from './project.ts'
import { startRegistry } from './registry.ts'
import { olderNode, run } from './run.ts'

const packed = await packOnce()
// The service is large and has its own test file.
const others = packed.filter(({ name }) => name !== '@purser/service')
const project = await installInto({ after }, others, await startRegistry({ after }))
for (const program of publishedPackages.flatMap(({ programs }) => programs)) addProgram(project, program)

function packedAs(name: string): Packed {
  return packed.find((one) => one.name === name) ?? assert.fail(name)
}

const nodes = { '24': process.execPath, '22': olderNode }

describe('The published packages', () => {
  test('is built with the releases that the tests name', async () => {
    const tsc = join(projectFolder, 'node_modules/.bin/tsc')
    assert.match(await run(tsc, ['--version'], { cwd: project }), /^Version 7\./)
    assert.match(ts.version, /^5\.9\./)
    for (const [release, program] of Object.entries(nodes)) {
      assert.match(await run(program, ['--version'], { cwd: project }), new RegExp(`^v${release}\\.`))
    }
  })

  for (const { name, mayDepend } of publishedPackages) {
    test(`${name} has a clean package, and only allowed dependencies`, async () => {
      const { folder: staged, tarball } = packedAs(name)
      const { buffer } = new Uint8Array(readFileSync(tarball))
      const { messages } = await publint({ pack: { tarball: buffer }, strict: true })
      assert.deepEqual(messages, [])
      const manifest = JSON.parse(readFileSync(join(staged, 'package.json'), 'utf8')) as Manifest
      if (!mayDepend) assert.equal(manifest.dependencies, undefined)
      assert.equal(manifest['devDependencies'], undefined)
    })
  }

  for (const { name, command } of publishedPackages) {
    if (!command) continue
    test(`the command of ${name} runs with both releases of Node`, async () => {
      const parameters = [join(project, 'node_modules', name, command.file), ...command.parameters]
      for (const program of Object.values(nodes)) {
        assert.match(await run(program, parameters, { cwd: project }), /\w/)
      }
    })
  }

  test('npm finds all their dependencies outside the project', () => {
    assert.deepEqual(ownPackagesIn(project), others.flatMap((one) => [one.name, ...one.carried]).sort())
  })

  for (const { platform, bundles } of publishedPackages) {
    for (const { imports, maxGzipBytes } of bundles) {
      test(`${imports.join(' and ')} take at most ${maxGzipBytes} bytes`, async (context) => {
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
const forAny = publishedPackages.filter(({ platform }) => platform === 'any')
const settings: [title: string, packages: readonly PublishedPackage[], compilerOptions: object][] = [
  ['the rules of Node, and the types of the web', forAny, { module: 'nodenext', ...web }],
  ['the rules of bundlers, and the types of the web', forAny, { ...bundler, ...web }],
  ['the rules of Node, and its types', publishedPackages, { module: 'nodenext', ...node }],
]

function filesOf(packages: readonly PublishedPackage[]): string[] {
  return packages.flatMap(({ programs }) => programs.map(({ file }) => file))
}

describe('Programs that use the packages', () => {
  for (const [title, packages, compilerOptions] of settings) {
    const files = filesOf(packages)
    test(`compile under strict with TypeScript 7, ${title}`, () => compile(project, files, compilerOptions))
    test(`compile under strict with TypeScript 5.9, ${title}`, () => {
      assert.deepEqual(compileWithOlder(project, files, compilerOptions), [])
    })
  }

  test('do not compile against a declaration that TypeScript 5.9 refuses', () => {
    const path = join(project, 'node_modules/@purser/client/dist/client.d.ts')
    const declaration = readFileSync(path, 'utf8')
    writeFileSync(path, `${declaration}export declare const broken: Missing\n`)
    try {
      const [title, packages, compilerOptions] = settings[0]!
      const found = compileWithOlder(project, filesOf(packages), compilerOptions)
      assert.deepEqual(found, [`${path}: Cannot find name 'Missing'.`], title)
    } finally {
      writeFileSync(path, declaration)
    }
  })

  for (const { file } of publishedPackages.flatMap(({ programs }) => programs)) {
    for (const [release, program] of Object.entries(nodes)) {
      test(`work with Node ${release}: ${file}`, async () => {
        const service = await shareTestService()
        const environment = { PURSER_URL: service.url, PURSER_KEY: service.sandboxKey, NODE_NO_WARNINGS: '1' }
        assert.equal(await run(program, [file], { cwd: project, environment }), 'done\n')
      })
    }
  }
})

/** The globals for a call; a paying fetch also needs `Request` and others. */
const webNames = [
  'AbortController',
  'clearTimeout',
  'crypto',
  'fetch',
  'Headers',
  'setTimeout',
  'TextDecoder',
  'URL',
  'URLSearchParams',
] as const

test('@purser/client runs with web APIs only', async () => {
  const service = await shareTestService()
  const options = { apiKey: service.sandboxKey, baseUrl: service.url }
  const world = createContext(Object.fromEntries(webNames.map((name) => [name, globalThis[name]])))
  Object.assign(world, { options })
  runInContext(await bundle(project, ['@purser/client']), world)
  const program =
    'new bundled.part0.Purser(options).agents.list().page().then((page) => JSON.stringify(page))'
  assert.equal(await runInContext(program, world), '{"items":[],"nextCursor":null}')
})
