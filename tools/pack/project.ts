import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import ts from 'typescript'

import type { Packed } from './pack.ts'
import type { Program } from './packages.ts'
import { nameOf } from './registry.ts'
import { run, runTsc } from './run.ts'

interface Context {
  readonly after: (clean: () => void) => void
}

/** An empty project elsewhere, with the packages and their dependencies installed by npm. */
export async function installInto(
  context: Context,
  packed: readonly Packed[],
  registry: string,
): Promise<string> {
  const folder = makeProject(context)
  await npmInstall(folder, registry, packed)
  return folder
}

/** The names of our packages that npm installed into a project, with those that others bundle, sorted. */
export function ownPackagesIn(folder: string): string[] {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, unknown>>
  }
  const names = Object.keys(lock.packages)
    .filter((path) => path !== '')
    .map(nameOf)
  return names.filter((name) => name.startsWith('@purser/')).sort()
}

function makeProject(context: Context): string {
  const folder = mkdtempSync(join(tmpdir(), 'purser-installed-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'package.json'), '{"name":"somebody-elses","private":true,"type":"module"}\n')
  return folder
}

async function npmInstall(folder: string, registry: string, packed: readonly Packed[]): Promise<void> {
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--fetch-retries=0']
  // With its own cache, npm reuses nothing.
  const where = [`--registry=${registry}`, `--cache=${join(folder, '.npm-cache')}`]
  const tarballs = packed.map(({ tarball }) => tarball)
  await run('npm', ['install', ...quiet, ...where, ...tarballs], { cwd: folder })
}

/** Copies a program into a project. */
export function addProgram(project: string, { file }: Program): void {
  copyFileSync(join(import.meta.dirname, 'consumers', file), join(project, file))
}

/** Compiles a project's programs, and the declarations that they import, with the current release of TypeScript. */
export async function compile(project: string, files: readonly string[], settings: object): Promise<void> {
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(configOf(files, settings)))
  await runTsc(['-p', project], project)
}

/**
 * What an older release of TypeScript reports about a project's programs and our declarations. It takes long for those of
 * others, which are not tested here.
 */
export function compileWithOlder(project: string, files: readonly string[], settings: object): string[] {
  const { options, fileNames } = ts.parseJsonConfigFileContent(configOf(files, settings), ts.sys, project)
  const program = ts.createProgram(fileNames, options, hostOf(options))
  const own = program
    .getSourceFiles()
    .filter(({ fileName }) => !fileName.includes('/node_modules/') || fileName.includes('/@purser/'))
  const diagnostics = [
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...own.flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]),
  ]
  return diagnostics.map(
    ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
  )
}

const libraries = new Map<string, ts.SourceFile | undefined>()

/** Parses TypeScript's own declarations once for all programs: they are large, and the same for all. */
function hostOf(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options)
  const folder = dirname(host.getDefaultLibFileName(options))
  const parse = host.getSourceFile
  host.getSourceFile = (path, ...how) => {
    if (dirname(path) !== folder) return parse(path, ...how)
    if (!libraries.has(path)) libraries.set(path, parse(path, ...how))
    return libraries.get(path)
  }
  return host
}

function configOf(files: readonly string[], settings: object) {
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    target: 'es2022',
    types: [],
    // TypeScript's own declarations are large, and not tested here.
    skipDefaultLibCheck: true,
    ...settings,
  }
  return { compilerOptions, files }
}
