/** A published package and its guarantees. */
export interface PublishedPackage {
  readonly name: string
  /** Its folder, relative to the project. */
  readonly folder: string
  /** `any` is compiled without Node's types, so that it cannot depend on them. */
  readonly platform: 'any' | 'node'
  /** Entry points of an `any` package that need Node. */
  readonly nodeEntries?: readonly string[]
  /** Whether others import it, so that it needs declarations; otherwise it is a program. */
  readonly isImported: boolean
  /** Sources that nothing imports, because each is a separate process. */
  readonly processes?: readonly string[]
  /** Folders that are included unchanged. */
  readonly folders?: readonly string[]
  /** Folders of our packages that are bundled with it, because nothing else needs them. */
  readonly carries?: readonly string[]
  /** Whether it may have dependencies. */
  readonly mayDepend: boolean
  readonly programs: readonly Program[]
  /** Its command, called so that it prints something and exits: the file in the package, and its args. */
  readonly command?: { readonly file: string; readonly parameters: readonly string[] }
  /** Imports that a user would bundle together, and their max size, minified and gzipped. */
  readonly bundles: readonly { readonly imports: readonly string[]; readonly maxGzipBytes: number }[]
}

/** A program in `consumers/` that uses a package, prints `done`, and fails if something is wrong. */
export interface Program {
  readonly file: string
}

/** The packages of `npm run pack`, in this order: a package comes after those that it imports. */
export const publishedPackages: readonly PublishedPackage[] = [
  {
    name: '@purser/client',
    folder: 'packages/client',
    platform: 'any',
    nodeEntries: ['src/purchase-files.ts'],
    isImported: true,
    mayDepend: false,
    programs: [{ file: 'client.ts' }],
    bundles: [{ imports: ['@purser/client'], maxGzipBytes: 15 * 1024 }],
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
      maxGzipBytes: 12.5 * 1024,
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
      'src/backup/vacuum-into.ts',
      'src/store/ledger/sqlite/quick-check.ts',
    ],
    folders: ['console'],
    carries: ['packages/wire'],
    mayDepend: true,
    programs: [],
    bundles: [],
  },
]
