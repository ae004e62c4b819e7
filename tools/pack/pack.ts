import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { projectFolder } from '../source-files.ts'
import { publishedPackages } from './packages.ts'
import { run } from './run.ts'
import { stage, type Staged } from './stage.ts'

/** A package as published by `npm publish`. */
export interface Packed extends Staged {
  readonly tarball: string
  readonly tarballBytes: number
}

/** Compiles and packs all published packages, or the named ones, into a folder. */
export async function packAll(
  into: string,
  names: readonly string[] = publishedPackages.map(({ name }) => name),
): Promise<Packed[]> {
  mkdirSync(into, { recursive: true })
  const gitHead = await commitOfCheckout()
  const packed: Packed[] = []
  for (const one of publishedPackages.filter(({ name }) => names.includes(name))) {
    const staged = await stage(one, { into: join(into, 'staged'), gitHead }, packed)
    const parameters = ['pack', '--json', '--ignore-scripts', '--pack-destination', into]
    const report = JSON.parse(await run('npm', parameters, { cwd: staged.folder })) as [{ filename: string }]
    const tarball = join(into, report[0].filename)
    packed.push({ ...staged, tarball, tarballBytes: statSync(tarball).size })
  }
  return packed
}

/** The commit that is packed; undefined for sources without their history. */
async function commitOfCheckout(): Promise<string | undefined> {
  if (!existsSync(join(projectFolder, '.git'))) return undefined
  return (await run('git', ['rev-parse', 'HEAD'], { cwd: projectFolder })).trim()
}
