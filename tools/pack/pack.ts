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

/** What npm reports of a package that it packed. */
interface Report {
  readonly name: string
  readonly filename: string
}

/** Compiles and packs all published packages, or the named ones, into a folder. */
export async function packAll(
  into: string,
  names: readonly string[] = publishedPackages.map(({ name }) => name),
): Promise<Packed[]> {
  mkdirSync(into, { recursive: true })
  const gitHead = await commitOfCheckout()
  const staged: Staged[] = []
  for (const one of publishedPackages.filter(({ name }) => names.includes(name))) {
    staged.push(await stage(one, { into: join(into, 'staged'), gitHead }, staged))
  }
  const parameters = ['pack', '--json', '--ignore-scripts', '--pack-destination', into]
  const folders = staged.map(({ folder }) => folder)
  const reports = JSON.parse(await run('npm', [...parameters, ...folders], { cwd: into })) as Report[]
  return staged.map((one): Packed => {
    const { filename = '' } = reports.find(({ name }) => name === one.name) ?? {}
    const tarball = join(into, filename)
    return { ...one, tarball, tarballBytes: statSync(tarball).size }
  })
}

/** The commit that is packed; undefined for sources without their history. */
async function commitOfCheckout(): Promise<string | undefined> {
  if (!existsSync(join(projectFolder, '.git'))) return undefined
  return (await run('git', ['rev-parse', 'HEAD'], { cwd: projectFolder })).trim()
}
