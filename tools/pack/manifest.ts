/** The parts of a package.json that are used here. */
export interface Manifest {
  readonly name: string
  readonly version: string
  /** Absent for programs. */
  readonly exports?: Readonly<Record<string, string>>
  readonly bin?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly [other: string]: unknown
}

/** What a published package contains in addition to its compiled code. */
export interface Published {
  /** Whether it has declarations. */
  readonly isImported: boolean
  readonly folders: readonly string[]
  /** The names of the packages that are bundled with it. */
  readonly carried: readonly string[]
  /** The commit that it is built from; undefined if unknown, as outside a checkout. */
  readonly gitHead: string | undefined
}

/** The entry points of a package; `*` of an export also matches folders, so it becomes a glob. */
export function entriesOf({ exports = {}, bin = {} }: Manifest): string[] {
  const sources = [...Object.values(exports), ...Object.values(bin)].map((path) => sourceOf(path))
  return [...new Set(sources.map((path) => path.replace('*', '**/*')))]
}

/** A command in the checkout may be JavaScript in `bin`, which checks Node and runs the source of the same name. */
function sourceOf(path: string): string {
  return path.replace(/^\.\//, '').replace(/^bin\/(.+)\.js$/, 'src/$1.ts')
}

/** The published package.json: compiled files instead of sources, and nothing for development. */
export function publishedManifest(
  manifest: Manifest,
  { isImported, folders, carried, gitHead }: Published,
): Record<string, unknown> {
  const { exports, bin, devDependencies: _, private: __, ...kept } = manifest
  return {
    engines: { node: '>=22' },
    ...kept,
    ...(exports ? { exports: mapValues(exports, (path) => publishedExport(path, isImported)) } : {}),
    ...(bin ? { bin: mapValues(bin, (path) => compiled(path, '.js')) } : {}),
    ...(carried.length > 0 ? { bundleDependencies: carried } : {}),
    files: ['dist', ...folders],
    // As written by `npm publish`; `purser --version` and the console show it.
    ...(gitHead === undefined ? {} : { gitHead }),
  }
}

function publishedExport(path: string, isImported: boolean): object {
  const types = isImported ? { types: `./${compiled(path, '.d.ts')}` } : {}
  return { ...types, default: `./${compiled(path, '.js')}` }
}

function compiled(path: string, extension: string): string {
  return sourceOf(path)
    .replace(/^src\//, 'dist/')
    .replace(/\.ts$/, extension)
}

function mapValues<Value>(
  record: Readonly<Record<string, string>>,
  map: (value: string) => Value,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))
}
