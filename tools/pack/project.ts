import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { projectFolder } from '../source-files.ts'
import type { Packed } from './pack.ts'
import type { Program } from './packages.ts'
import { run } from './run.ts'

/** An empty project somewhere else, into which the packages were installed, and nothing but them. */
export async function installInto(
  context: { readonly after: (clean: () => void) => void },
  packed: readonly Packed[],
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-installed-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'package.json'), '{"name":"somebody-elses","private":true,"type":"module"}\n')
  const [dependent, independent] = [packed.filter(isDependent), packed.filter((one) => !isDependent(one))]
  const quiet = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', ['install', ...quiet, ...independent.map(({ tarball }) => tarball)], { cwd: folder })
  for (const one of dependent) await unpackInto(folder, one)
  return folder
}

/**
 * The names of all that npm would install with packages into an empty project. Throws when it does not find
 * something that they need.
 */
export async function resolveAlone(
  context: { readonly after: (clean: () => void) => void },
  packed: readonly Packed[],
  registry: string,
): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-resolved-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'package.json'), '{"name":"somebody-elses","private":true}\n')
  const parameters = [
    'install',
    '--package-lock-only',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--fetch-retries=0',
    `--registry=${registry}`,
    // A cache of its own, so that it knows nothing from elsewhere.
    `--cache=${join(folder, 'cache')}`,
    ...packed.map(({ tarball }) => tarball),
  ]
  await run('npm', parameters, { cwd: folder })
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, unknown>>
  }
  return Object.keys(lock.packages)
    .filter((path) => path !== '')
    .map((path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
}

/** Whether a package brings others along, which npm could not install without the network. */
function isDependent({ manifest: { dependencies = {} } }: Packed): boolean {
  return Object.keys(dependencies).some(isOfOthers)
}

function isOfOthers(name: string): boolean {
  return !name.startsWith('@purser/')
}

/** What npm would do with a package, but with links to the dependencies that this project has. */
async function unpackInto(project: string, { name, source, tarball, manifest }: Packed): Promise<void> {
  const target = join(project, 'node_modules', name)
  mkdirSync(target, { recursive: true })
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', target], { cwd: project })
  for (const dependency of Object.keys(manifest.dependencies ?? {}).filter(isOfOthers)) {
    link(project, dependency, source)
  }
}

/** Lets a project use a package of others, as the package in `source` has it. */
function link(project: string, name: string, source: string): void {
  const place = join(project, 'node_modules', name)
  const found = [source, projectFolder]
    .map((folder) => join(folder, 'node_modules', name))
    .find((folder) => existsSync(folder))
  if (!found) throw new Error(`${name} is not installed here`)
  mkdirSync(dirname(place), { recursive: true })
  if (!existsSync(place)) symlinkSync(found, place)
}

/** Puts a program into a project, and what it needs beside it. */
export function addProgram(project: string, { file, beside = [] }: Program, { source }: Packed): void {
  for (const name of beside) link(project, name, source)
  copyFileSync(join(import.meta.dirname, 'consumers', file), join(project, file))
}

/** Compiles programs of a project, and all declarations that they import, with one release of TypeScript. */
export async function compile(
  project: string,
  tsc: string,
  files: readonly string[],
  settings: object,
): Promise<void> {
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    target: 'es2022',
    types: [],
    // TypeScript's own declarations are large, and not what is tried.
    skipDefaultLibCheck: true,
    ...settings,
  }
  const config = { compilerOptions, files }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config))
  await run(tsc, ['-p', project], { cwd: project })
}
