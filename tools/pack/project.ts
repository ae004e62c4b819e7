import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { projectFolder } from '../source-files.ts'
import type { Packed } from './pack.ts'
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
    const link = join(project, 'node_modules', dependency)
    const places = [join(source, 'node_modules', dependency), join(projectFolder, 'node_modules', dependency)]
    const found = places.find((place) => existsSync(place))
    if (!found) throw new Error(`${name} depends on ${dependency}, which is not installed here`)
    mkdirSync(dirname(link), { recursive: true })
    if (!existsSync(link)) symlinkSync(found, link)
  }
}

/** Puts a program of `consumers/` into a project, and the settings under which it is compiled. */
export function addProgram(project: string, program: string, compilerOptions: object): void {
  copyFileSync(join(import.meta.dirname, 'consumers', program), join(project, program))
  const settings = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    target: 'es2022',
    types: [],
    ...compilerOptions,
  }
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: settings, files: [program] }),
  )
}
