import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { projectFolder } from '../source-files.ts'
import { entriesOf, publishedManifest, type Manifest } from './manifest.ts'
import type { PublishedPackage } from './packages.ts'
import { runTsc } from './run.ts'

/** A package as it will be published: a folder with a package.json, `dist`, a README and the license. */
export interface Staged {
  readonly name: string
  /** The folder of its sources. */
  readonly source: string
  readonly folder: string
  readonly manifest: Manifest
  /** The names of our packages that are bundled with it. */
  readonly carried: readonly string[]
}

/** What all packages of one build share. */
export interface Packing {
  /** The folder into which the packages are compiled. */
  readonly into: string
  /** The commit of the checkout; undefined outside one. */
  readonly gitHead: string | undefined
}

/** Compiles a package into its own folder; `earlier` are the packages that it may import. */
export async function stage(
  { name, folder, folders = [], carries = [], ...how }: PublishedPackage,
  { into, gitHead }: Packing,
  earlier: readonly Staged[],
): Promise<Staged> {
  const source = join(projectFolder, folder)
  const target = join(into, name.replace('@', '').replace('/', '-'))
  const manifest = readManifest(source)
  await compile(manifest, { ...how, source, target, earlier })
  for (const path of folders) copyFolder(join(source, path), join(target, path))
  const carried: string[] = []
  for (const path of carries) carried.push(await carry(join(projectFolder, path), { target, gitHead }))
  writeManifest(target, publishedManifest(manifest, { ...how, folders, carried, gitHead }))
  cpSync(join(source, 'README.md'), join(target, 'README.md'))
  cpSync(join(projectFolder, 'LICENSE'), join(target, 'LICENSE'))
  return { name, source, folder: target, manifest, carried }
}

/** Compiles one of our packages into the `node_modules` of the package that bundles it; resolves to its name. */
async function carry(
  source: string,
  carrier: { readonly target: string } & Pick<Packing, 'gitHead'>,
): Promise<string> {
  const manifest = readManifest(source)
  const target = join(carrier.target, 'node_modules', manifest.name)
  await compile(manifest, { platform: 'node', isImported: false, source, target, earlier: [] })
  writeManifest(
    target,
    publishedManifest(manifest, { isImported: false, folders: [], carried: [], gitHead: carrier.gitHead }),
  )
  return manifest.name
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

function writeManifest(folder: string, manifest: object): void {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

function copyFolder(from: string, to: string): void {
  if (!existsSync(from)) throw new Error(`${from} is missing; run npm run build:console`)
  cpSync(from, to, { recursive: true })
}

interface Compilation extends Pick<
  PublishedPackage,
  'platform' | 'nodeEntries' | 'isImported' | 'processes'
> {
  readonly source: string
  readonly target: string
  readonly earlier: readonly Staged[]
}

async function compile(manifest: Manifest, compilation: Compilation): Promise<void> {
  const { source, processes = [], nodeEntries = [] } = compilation
  const entries = globSync([...entriesOf(manifest), ...processes], { cwd: source, exclude: ['**/*.test.ts'] })
  const forNode = entries.filter((entry) => nodeEntries.includes(entry))
  const others = entries.filter((entry) => !nodeEntries.includes(entry))
  if (forNode.length > 0) await compileEntries(forNode, { ...compilation, platform: 'node' })
  await compileEntries(others, compilation)
}

async function compileEntries(entries: readonly string[], compilation: Compilation): Promise<void> {
  const { source, target, platform, isImported, earlier } = compilation
  const entryPaths = entries.map((path) => join(source, path))
  const config = {
    extends: join(projectFolder, 'tsconfig.json'),
    compilerOptions: {
      target: 'es2022',
      lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
      types: platform === 'node' ? ['node'] : [],
      typeRoots: [join(projectFolder, 'node_modules/@types')],
      noEmit: false,
      declaration: isImported,
      rewriteRelativeImportExtensions: true,
      rootDir: join(source, 'src'),
      outDir: join(target, 'dist'),
      // Their published declarations instead of their sources, which would be compiled again.
      paths: Object.fromEntries(earlier.flatMap(declarationsOf)),
      // Programs need no external types; `npm run check:types` has checked them.
      ...(isImported ? {} : { noCheck: true, noResolve: true }),
    },
    include: [],
    exclude: [],
    files: isImported ? entryPaths : withAllTheyImport(entryPaths),
  }
  mkdirSync(target, { recursive: true })
  const configPath = join(target, 'tsconfig.json')
  writeFileSync(configPath, JSON.stringify(config))
  await runTsc(['-p', configPath], projectFolder)
  for (const path of readdirSync(join(target, 'dist'), { recursive: true, encoding: 'utf8' })) {
    if (path.endsWith('.d.ts')) rewriteExtensions(join(target, 'dist', path))
  }
}

/** Sources, and all sources of the same package that they import. */
function withAllTheyImport(paths: readonly string[]): string[] {
  const found = new Set(paths)
  // A set also iterates over items that are added during the loop.
  for (const path of found) {
    const imports = readFileSync(path, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+\.ts)'/g)
    for (const [, specifier = ''] of imports) found.add(join(dirname(path), specifier))
  }
  return [...found]
}

function declarationsOf({ name, folder }: Staged): [string, string[]][] {
  const { exports = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    exports?: Record<string, { types: string }>
  }
  return Object.entries(exports).map(([path, { types }]) => [name + path.slice(1), [join(folder, types)]])
}

/** The compiler rewrites `./a.ts` to `./a.js` in code but not in declarations, and not every editor supports that. */
function rewriteExtensions(path: string): void {
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replaceAll(/((?:from|import)\s*\(?\s*['"]\.[^'"]+)\.ts(['"])/g, '$1.js$2'))
}
