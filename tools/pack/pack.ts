import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { publishedPackages } from './packages.ts'
import { run } from './run.ts'
import { stage, type Staged } from './stage.ts'

/** A package as `npm publish` would send it. */
export interface Packed extends Staged {
  readonly tarball: string
}

/** Compiles and packs every published package into a folder. */
export async function packAll(into: string): Promise<Packed[]> {
  mkdirSync(into, { recursive: true })
  const packed: Packed[] = []
  for (const one of publishedPackages) {
    const staged = await stage(one, join(into, 'staged'), packed)
    const parameters = ['pack', '--json', '--ignore-scripts', '--pack-destination', into]
    const report = JSON.parse(await run('npm', parameters, { cwd: staged.folder })) as [{ filename: string }]
    packed.push({ ...staged, tarball: join(into, report[0].filename) })
  }
  return packed
}
