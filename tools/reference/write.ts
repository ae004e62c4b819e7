import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { projectFolder } from '../source-files.ts'
import { referencePages } from './pages.ts'

for (const [path, text] of Object.entries(await referencePages())) {
  writeFileSync(join(projectFolder, path), text)
  console.log(`wrote ${path}`)
}
