import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { projectFolder } from '../source-files.ts'
import { clientTypeFiles } from './client-types.ts'

for (const [path, text] of Object.entries(await clientTypeFiles())) {
  writeFileSync(join(projectFolder, path), text)
  console.log(`wrote ${path}`)
}
