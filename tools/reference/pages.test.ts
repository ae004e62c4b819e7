import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { projectFolder } from '../source-files.ts'
import { referencePages } from './pages.ts'

test('The pages of the reference are those that the code gives; `npm run docs` writes them', async () => {
  for (const [path, text] of Object.entries(await referencePages())) {
    assert.equal(readFileSync(join(projectFolder, path), 'utf8'), text, path)
  }
})
