import assert from 'node:assert/strict'
import { test } from 'node:test'

import { importsOf } from './imports.ts'
import { sourceFiles, type SourceFile } from './source-files.ts'

/** An area, and what its files may import; they may import types from more areas than values. */
interface Area {
  readonly name: string
  /** The path prefixes of the area; the longest match wins. */
  readonly path: string
  readonly values: readonly string[]
  readonly types?: readonly string[]
}

const everything = ['service/src', 'service/package.json', 'packages/wire/src', 'npm:', 'node:']

/** A framework's file may also import its framework. */
const mcp = [
  'packages/mcp/src',
  'npm:@purser/client',
  'npm:@modelcontextprotocol/server',
  'npm:ipaddr.js',
  'npm:zod',
  'node:',
]

/** From lowest to highest: no area imports from a later one. */
const areas: readonly Area[] = [
  { name: 'wire', path: 'packages/wire/src', values: ['packages/wire/src'] },
  { name: 'client', path: 'packages/client/src', values: ['packages/client/src'] },
  {
    name: 'purchase files of the client',
    path: 'packages/client/src/purchase-files.ts',
    values: ['packages/client/src', 'node:'],
  },
  { name: 'mcp', path: 'packages/mcp/src', values: mcp },
  { name: 'mcp for the AI SDK', path: 'packages/mcp/src/ai-sdk.ts', values: [...mcp, 'npm:ai'] },
  {
    name: 'mcp for the OpenAI Agents SDK',
    path: 'packages/mcp/src/openai-agents.ts',
    values: [...mcp, 'npm:@openai/agents'],
  },
  {
    name: 'merchant',
    path: 'packages/merchant/src',
    values: ['packages/merchant/src'],
    types: ['npm:@purser/client', 'node:http'],
  },
  {
    name: 'merchant, deliveries in files',
    path: 'packages/merchant/src/file-store.ts',
    values: ['packages/merchant/src', 'node:'],
  },
  {
    name: 'cli',
    path: 'packages/cli/src',
    values: [
      'packages/cli/src',
      'npm:@purser/client',
      // Loaded at run time, if installed.
      'npm:@purser/service/commands',
      'npm:@commander-js/extra-typings',
      'npm:string-width',
      'node:',
    ],
  },
  {
    name: 'console',
    path: 'console/src',
    values: [
      'console/src',
      'examples/first-purchase/',
      'npm:@purser/client',
      'npm:@base-ui/react/',
      'npm:@tanstack/react-query',
      'npm:@tanstack/react-virtual',
      'npm:d3-scale',
      'npm:d3-shape',
      'npm:react',
      'npm:react-dom/client',
      'npm:react-router',
    ],
  },
  {
    name: 'domain',
    path: 'service/src/domain',
    values: [
      'service/src/domain',
      'node:crypto',
      'node:module',
      'node:url',
      'node:zlib',
      'npm:tldts',
      'packages/wire/src/api-keys.ts',
    ],
    types: ['packages/wire/src'],
  },
  { name: 'limits', path: 'service/src/limits.ts', values: ['packages/wire/src'] },
  {
    name: 'ids',
    path: 'service/src/ids.ts',
    values: ['service/src/domain', 'npm:uuid', 'node:crypto'],
  },
  { name: 'histogram', path: 'service/src/metrics/histogram.ts', values: [] },
  {
    name: 'store',
    path: 'service/src/store',
    values: [
      'service/src/store',
      'service/src/domain',
      'service/src/metrics/histogram.ts',
      'npm:better-sqlite3',
      'npm:pg',
      'node:',
    ],
    types: ['packages/wire/src'],
  },
  {
    name: 'http',
    path: 'service/src/http',
    values: [
      'service/src/http',
      'service/src/limits.ts',
      'service/src/domain/api-key.ts',
      'service/src/domain/resource-patterns.ts',
      'service/src/domain/time',
      'service/src/domain/session.ts',
      'service/src/store/store.ts',
      'packages/wire/src',
      'npm:fastify',
      'node:',
    ],
    types: ['service/src/domain', 'service/src/store/console/store.ts'],
  },
  {
    name: 'routes',
    path: 'service/src/routes',
    values: [
      'service/src/routes',
      'service/src/domain',
      'service/src/http',
      'service/src/limits.ts',
      'packages/wire/src',
      'node:stream',
      'node:timers/promises',
    ],
    types: ['service/src/store/store.ts', 'service/src/store/console/store.ts', 'service/src/ids.ts'],
  },
  // These may import everything before them.
  { name: 'backup', path: 'service/src/backup/', values: everything },
  { name: 'copy', path: 'service/src/copy/', values: everything },
  { name: 'settings', path: 'service/src/settings/', values: everything },
  { name: 'background', path: 'service/src/background/', values: everything },
  { name: 'metrics', path: 'service/src/metrics/', values: everything },
  { name: 'console', path: 'service/src/console/', values: everything },
  { name: 'reference', path: 'service/src/reference.ts', values: everything },
  { name: 'application', path: 'service/src/app.ts', values: everything },
  { name: 'others', path: 'service/src/', values: everything },
  { name: 'start', path: 'service/src/start/', values: everything },
  { name: 'processes', path: 'service/src/processes/', values: everything },
  { name: 'commands', path: 'service/src/commands/', values: everything },
  { name: 'process', path: 'service/src/main.ts', values: everything },
  { name: 'program', path: 'service/src/purser-service.ts', values: everything },
]

const files = sourceFiles([
  'packages/wire/src',
  'packages/client/src',
  'packages/merchant/src',
  'packages/mcp/src',
  'packages/cli/src',
  'console/src',
  'service/src',
]).filter(({ path }) => !path.endsWith('.test.ts'))

test('A file imports only from the areas that its own area may import', () => {
  assert.ok(files.length > 50, "the project's files are found")
  assert.deepEqual(files.flatMap(forbiddenImports), [])
})

test('A forbidden import is detected', () => {
  const planted = {
    path: 'service/src/domain/money.ts',
    text: "import { openSqliteLedgerStore } from '../store/ledger/sqlite/sqlite-ledger-store.ts'\nimport type { A } from '../store/store.ts'",
  }
  assert.equal(forbiddenImports(planted).length, 2)
})

test('No file imports from a higher area', () => {
  assert.deepEqual(files.flatMap(upwardImports), [])
})

test('An import from a higher area is detected, also of a type', () => {
  const planted = {
    path: 'service/src/console/pages.ts',
    text: "import type { RunningService } from '../start/start.ts'\nconst { createApp } = await import('../app.ts')",
  }
  assert.equal(upwardImports(planted).length, 2)
})

test('Only config.ts and settings.ts read the environment', () => {
  const readers = files.filter(({ text }) => text.includes('process.env')).map(({ path }) => path)
  // They pass the environment to config.ts, or to settings.ts in packages/mcp, the only readers.
  assert.deepEqual(readers, [
    'packages/cli/src/process-io.ts',
    'packages/mcp/src/main.ts',
    'service/src/main.ts',
  ])
})

function forbiddenImports(file: SourceFile): string[] {
  const area = areaOf(file.path)
  return importsOf(file)
    .filter(({ target, isType }) => {
      const allowed = isType ? [...(area?.values ?? []), ...(area?.types ?? [])] : (area?.values ?? [])
      return !allowed.some((path) => target === path || target.startsWith(path))
    })
    .map(({ target, isType }) => `${file.path} (${area?.name}) imports ${isType ? 'types of ' : ''}${target}`)
}

function upwardImports(file: SourceFile): string[] {
  const height = heightOf(file.path)
  return importsOf(file)
    .filter(({ target }) => heightOf(target) > height)
    .map(({ target }) => `${file.path} imports ${target}`)
}

/** The level of a path's area; external packages are below all. */
function heightOf(path: string): number {
  const area = areaOf(path)
  return area === undefined ? -1 : areas.indexOf(area)
}

/** The area with the longest matching prefix. */
function areaOf(path: string): Area | undefined {
  return areas
    .filter((area) => path.startsWith(area.path))
    .toSorted((a, b) => b.path.length - a.path.length)
    .at(0)
}
