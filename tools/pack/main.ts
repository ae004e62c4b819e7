import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { projectFolder } from '../source-files.ts'
import { packAll } from './pack.ts'

const folder = join(projectFolder, 'dist')
rmSync(folder, { recursive: true, force: true })
for (const { name, tarball } of await packAll(folder)) console.log(`${name}: ${tarball}`)
