import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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
  const tarballs = packed.map(({ tarball }) => tarball)
  const quiet = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', ['install', ...quiet, ...tarballs], { cwd: folder })
  return folder
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
