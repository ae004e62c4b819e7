import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { projectFolder } from '../source-files.ts'
import { generatedFolders, referencePages } from './pages.ts'

const pages = await referencePages()
for (const folder of generatedFolders) rmSync(join(projectFolder, folder), { recursive: true, force: true })
for (const [path, text] of Object.entries(pages)) {
  mkdirSync(dirname(join(projectFolder, path)), { recursive: true })
  writeFileSync(join(projectFolder, path), text)
}
console.log(`wrote ${Object.keys(pages).length} pages below docs/reference, and llms.txt`)
