/** The parts of a package.json that are looked at here. */
export interface Manifest {
  readonly name: string
  readonly version: string
  /** Left out by what is only a program. */
  readonly exports?: Readonly<Record<string, string>>
  readonly bin?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly [other: string]: unknown
}

/** The sources by which a package is entered. */
export function entriesOf({ exports = {}, bin = {} }: Manifest): string[] {
  return [
    ...new Set([...Object.values(exports), ...Object.values(bin)].map((path) => path.replace(/^\.\//, ''))),
  ]
}

/** The package.json for those who install: compiled files instead of sources, and nothing for development. */
export function publishedManifest(manifest: Manifest): object {
  const { exports, bin, devDependencies: _, private: __, ...kept } = manifest
  return {
    engines: { node: '>=22' },
    ...kept,
    ...(exports ? { exports: mapValues(exports, publishedExport) } : {}),
    ...(bin ? { bin: mapValues(bin, (path) => compiled(path, '.js')) } : {}),
    files: ['dist'],
  }
}

function publishedExport(path: string): object {
  return { types: `./${compiled(path, '.d.ts')}`, default: `./${compiled(path, '.js')}` }
}

function compiled(path: string, extension: string): string {
  return path.replace(/^(\.\/)?src\//, 'dist/').replace(/\.ts$/, extension)
}

function mapValues<Value>(
  record: Readonly<Record<string, string>>,
  map: (value: string) => Value,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))
}
