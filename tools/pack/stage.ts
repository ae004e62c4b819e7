import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { projectFolder } from '../source-files.ts'
import { entriesOf, publishedManifest, type Manifest } from './manifest.ts'
import type { PublishedPackage } from './packages.ts'
import { run } from './run.ts'

/** A package as it will be published: a folder with a package.json, `dist`, a README and the licence. */
export interface Staged {
  readonly name: string
  /** Where its sources are. */
  readonly source: string
  readonly folder: string
  readonly manifest: Manifest
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
  return { name, source, folder: target, manifest }
}

async function compile(
  manifest: Manifest,
  options: {
    readonly source: string
    readonly target: string
    readonly platform: PublishedPackage['platform']
    readonly earlier: readonly Staged[]
  },
): Promise<void> {
  const { source, target, platform, earlier } = options
  const isProgram = manifest.exports === undefined
  const config = {
    extends: join(projectFolder, 'tsconfig.json'),
    compilerOptions: {
      target: 'es2022',
      lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
      types: platform === 'node' ? ['node'] : [],
      typeRoots: [join(projectFolder, 'node_modules/@types')],
      noEmit: false,
      declaration: !isProgram,
      rewriteRelativeImportExtensions: true,
      rootDir: join(source, 'src'),
      outDir: join(target, 'dist'),
      // Their declarations as published, instead of their sources, which would be compiled once more.
      paths: Object.fromEntries(earlier.flatMap(declarationsOf)),
      // Nobody imports a program, so its imports need not be followed; `npm run check:types` has done that.
      ...(isProgram ? { noCheck: true, noResolve: true } : {}),
    },
    include: [],
    exclude: [],
    files: isProgram ? sourcesOf(source) : entriesOf(manifest).map((path) => join(source, path)),
  }
  const configPath = join(target, 'tsconfig.json')
  writeFileSync(configPath, JSON.stringify(config))
  await run(join(projectFolder, 'node_modules/.bin/tsc'), ['-p', configPath], { cwd: projectFolder })
  for (const path of readdirSync(join(target, 'dist'), { recursive: true, encoding: 'utf8' })) {
    if (path.endsWith('.d.ts')) rewriteExtensions(join(target, 'dist', path))
  }
}

function sourcesOf(source: string): string[] {
  return readdirSync(join(source, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => join(source, 'src', path))
}

function declarationsOf({ name, folder }: Staged): [string, string[]][] {
  const { exports = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    exports?: Record<string, { types: string }>
  }
  return Object.entries(exports).map(([path, { types }]) => [name + path.slice(1), [join(folder, types)]])
}

/** The compiler rewrites `./a.ts` to `./a.js` in code, but not in declarations, and not every editor copes. */
function rewriteExtensions(path: string): void {
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replaceAll(/((?:from|import)\s*\(?\s*['"]\.[^'"]+)\.ts(['"])/g, '$1.js$2'))
}
