import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { projectFolder } from '../source-files.ts'
import type { PublishedPackage } from './packages.ts'
import { run } from './run.ts'

/** The parts of a package.json that are looked at here. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly exports: Readonly<Record<string, string>>
  readonly bin?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly [other: string]: unknown
}

/** A package as it will be published: a folder with a package.json, `dist`, a README and the licence. */
export interface Staged {
  readonly name: string
  readonly folder: string
}

/** Compiles a package into a folder of its own; `earlier` are those that it may import. */
export async function stage(
  { name, folder, platform }: PublishedPackage,
  into: string,
  earlier: readonly Staged[],
): Promise<Staged> {
  const source = join(projectFolder, folder)
  const target = join(into, name.replace('@', '').replace('/', '-'))
  const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as Manifest
  mkdirSync(target, { recursive: true })
  await compile(manifest, { source, target, platform, earlier })
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(publishedManifest(manifest), null, 2)}\n`)
  cpSync(join(source, 'README.md'), join(target, 'README.md'))
  cpSync(join(projectFolder, 'LICENSE'), join(target, 'LICENSE'))
  return { name, folder: target }
}

async function compile(
  { exports, bin = {} }: Manifest,
  options: {
    readonly source: string
    readonly target: string
    readonly platform: PublishedPackage['platform']
    readonly earlier: readonly Staged[]
  },
): Promise<void> {
  const { source, target, platform, earlier } = options
  const entries = [...Object.values(exports), ...Object.values(bin)].filter((path) => path.endsWith('.ts'))
  const config = {
    extends: join(projectFolder, 'tsconfig.json'),
    compilerOptions: {
      target: 'es2022',
      lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
      types: platform === 'node' ? ['node'] : [],
      typeRoots: [join(projectFolder, 'node_modules/@types')],
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      rootDir: join(source, 'src'),
      outDir: join(target, 'dist'),
      // Their declarations as published, instead of their sources, which would be compiled once more.
      paths: Object.fromEntries(earlier.flatMap(declarationsOf)),
    },
    include: [],
    exclude: [],
    files: entries.map((path) => join(source, path)),
  }
  const configPath = join(target, 'tsconfig.json')
  writeFileSync(configPath, JSON.stringify(config))
  await run(join(projectFolder, 'node_modules/.bin/tsc'), ['-p', configPath], { cwd: projectFolder })
  for (const path of readdirSync(join(target, 'dist'), { recursive: true, encoding: 'utf8' })) {
    if (path.endsWith('.d.ts')) rewriteExtensions(join(target, 'dist', path))
  }
}

function declarationsOf({ name, folder }: Staged): [string, string[]][] {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    exports: Record<string, { types: string }>
  }
  return Object.entries(exports).map(([path, { types }]) => [name + path.slice(1), [join(folder, types)]])
}

/** The compiler rewrites `./a.ts` to `./a.js` in code, but not in declarations, and not every editor copes. */
function rewriteExtensions(path: string): void {
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replaceAll(/((?:from|import)\s*\(?\s*['"]\.[^'"]+)\.ts(['"])/g, '$1.js$2'))
}

/** The package.json for those who install: compiled files instead of sources, and nothing for development. */
function publishedManifest(manifest: Manifest): object {
  const { exports, bin, devDependencies: _, private: __, ...kept } = manifest
  return {
    ...kept,
    engines: { node: '>=22' },
    exports: Object.fromEntries(
      Object.entries(exports).map(([name, path]) => [
        name,
        { types: compiled(path, '.d.ts'), default: compiled(path, '.js') },
      ]),
    ),
    ...(bin
      ? { bin: Object.fromEntries(Object.entries(bin).map(([name, path]) => [name, compiled(path, '.js')])) }
      : {}),
    files: ['dist'],
  }
}

function compiled(path: string, extension: string): string {
  return path.replace(/^(\.\/)?src\//, './dist/').replace(/\.ts$/, extension)
}
