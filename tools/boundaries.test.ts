import assert from 'node:assert/strict'
import { test } from 'node:test'

import { importsOf } from './imports.ts'
import { sourceFiles, type SourceFile } from './source-files.ts'

/** A room of the house, and what its files may import; types may come from further away than values. */
interface Room {
  readonly name: string
  /** The beginning of the paths that belong to the room; the longest match wins. */
  readonly path: string
  readonly values: readonly string[]
  readonly types?: readonly string[]
}

const everything = ['service/src', 'service/package.json', 'packages/wire/src', 'npm:', 'node:']

/** What each framework's file may import besides is its framework. */
const mcp = [
  'packages/mcp/src',
  'npm:@purser/client',
  'npm:@modelcontextprotocol/server',
  'npm:ipaddr.js',
  'npm:zod',
  'node:',
]

/** From the lowest to the highest: no room imports from one behind it. */
const rooms: readonly Room[] = [
  { name: 'wire', path: 'packages/wire/src', values: ['packages/wire/src', 'npm:typebox'] },
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
      // Loaded when it is called, where it is installed.
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
      'npm:kysely',
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
      'service/src/domain/session.ts',
      'service/src/store/store.ts',
      'packages/wire/src',
      'npm:fastify',
      'npm:typebox',
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
  // These may import all that stands before them.
  { name: 'settings', path: 'service/src/settings/', values: everything },
  { name: 'background', path: 'service/src/background/', values: everything },
  { name: 'metrics', path: 'service/src/metrics/', values: everything },
  { name: 'console', path: 'service/src/console/', values: everything },
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

test('A file imports only from the rooms that its own may know', () => {
  assert.ok(files.length > 50, 'the files of the house are found')
  assert.deepEqual(files.flatMap(forbiddenImports), [])
})

test('A forbidden import is seen', () => {
  const planted = {
    path: 'service/src/domain/money.ts',
    text: "import { openSqliteLedgerStore } from '../store/ledger/sqlite/sqlite-ledger-store.ts'\nimport type { A } from '../store/store.ts'",
  }
  assert.equal(forbiddenImports(planted).length, 2)
})

test('No file imports from a room above its own', () => {
  assert.deepEqual(files.flatMap(upwardImports), [])
})

test('An import from above is seen, also of a type', () => {
  const planted = {
    path: 'service/src/console/pages.ts',
    text: "import type { RunningService } from '../start/start.ts'\nconst { createApp } = await import('../app.ts')",
  }
  assert.equal(upwardImports(planted).length, 2)
})

test('Only config.ts and settings.ts read the environment', () => {
  const readers = files.filter(({ text }) => text.includes('process.env')).map(({ path }) => path)
  // They hand the environment to config.ts, or settings.ts in packages/mcp, which alone look into it.
  assert.deepEqual(readers, [
    'packages/cli/src/process-surroundings.ts',
    'packages/mcp/src/main.ts',
    'service/src/main.ts',
  ])
})

function forbiddenImports(file: SourceFile): string[] {
  const room = roomOf(file.path)
  return importsOf(file)
    .filter(({ target, isType }) => {
      const allowed = isType ? [...(room?.values ?? []), ...(room?.types ?? [])] : (room?.values ?? [])
      return !allowed.some((path) => target === path || target.startsWith(path))
    })
    .map(({ target, isType }) => `${file.path} (${room?.name}) imports ${isType ? 'types of ' : ''}${target}`)
}

function upwardImports(file: SourceFile): string[] {
  const height = heightOf(file.path)
  return importsOf(file)
    .filter(({ target }) => heightOf(target) > height)
    .map(({ target }) => `${file.path} imports ${target}`)
}

/** How high the room of a path stands; packages of others stand below all. */
function heightOf(path: string): number {
  const room = roomOf(path)
  return room === undefined ? -1 : rooms.indexOf(room)
}

/** The room with the longest path that a file's begins with. */
function roomOf(path: string): Room | undefined {
  return rooms
    .filter((room) => path.startsWith(room.path))
    .toSorted((a, b) => b.path.length - a.path.length)
    .at(0)
}
