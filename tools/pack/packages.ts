/** A package that others install, and what it promises them. */
export interface PublishedPackage {
  readonly name: string
  /** Its folder, from the project's. */
  readonly folder: string
  /** `any` is compiled without the types of Node, so that it cannot lean on them. */
  readonly platform: 'any' | 'node'
  /** Entries of an `any` package that need Node all the same. */
  readonly nodeEntries?: readonly string[]
  /** Whether others import it, so that it brings declarations; all else is a program. */
  readonly isImported: boolean
  /** Sources that nothing imports, because each is a process of its own. */
  readonly processes?: readonly string[]
  /** Folders that go with it as they are. */
  readonly folders?: readonly string[]
  /** Packages of ours that travel within it, because nothing else needs them: their folders. */
  readonly carries?: readonly string[]
  /** Whether it may bring other packages along. */
  readonly mayDepend: boolean
  readonly programs: readonly Program[]
  /** Its command, called so that it says something and ends: the file in the package, and what comes behind. */
  readonly command?: { readonly file: string; readonly parameters: readonly string[] }
  /** What is imported together by somebody who counts bytes, and how many these may be, minified and gzipped. */
  readonly bundles: readonly { readonly imports: readonly string[]; readonly maxGzipBytes: number }[]
}

/** A program in `consumers/` that uses a package, prints `done`, and fails when something is not as it should be. */
export interface Program {
  readonly file: string
}

/** What `npm run pack` makes, in this order: a package stands behind those that it imports. */
export const publishedPackages: readonly PublishedPackage[] = [
  {
    name: '@purser/client',
    folder: 'packages/client',
    platform: 'any',
    nodeEntries: ['src/purchase-files.ts'],
    isImported: true,
    mayDepend: false,
    programs: [{ file: 'client.ts' }],
    bundles: [{ imports: ['@purser/client'], maxGzipBytes: 14 * 1024 }],
  },
  {
    name: '@purser/merchant',
    folder: 'packages/merchant',
    platform: 'node',
    isImported: true,
    mayDepend: false,
    programs: [{ file: 'merchant.ts' }],
    bundles: ['express', 'fastify', 'fetch', 'hono', 'next', 'node'].map((adapter) => ({
      imports: ['@purser/merchant', `@purser/merchant/${adapter}`],
      maxGzipBytes: 9 * 1024,
    })),
  },
  {
    name: '@purser/cli',
    folder: 'packages/cli',
    platform: 'node',
    isImported: false,
    mayDepend: true,
    programs: [],
    command: { file: 'dist/purser.js', parameters: ['--help'] },
    bundles: [],
  },
  {
    name: '@purser/mcp',
    folder: 'packages/mcp',
    platform: 'node',
    isImported: true,
    mayDepend: true,
    programs: [{ file: 'mcp.ts' }],
    command: { file: 'dist/main.js', parameters: ['--help'] },
    bundles: [],
  },
  {
    name: '@purser/service',
    folder: 'service',
    platform: 'node',
    isImported: false,
    processes: [
      'src/processes/worker.ts',
      'src/store/backup/vacuum-into.ts',
      'src/store/ledger/sqlite/quick-check.ts',
    ],
    folders: ['console'],
    carries: ['packages/wire'],
    mayDepend: true,
    programs: [],
    bundles: [],
  },
]
