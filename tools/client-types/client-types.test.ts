import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { projectFolder } from '../source-files.ts'
import { clientTypeFiles } from './client-types.ts'

test("The client's types are up to date with packages/wire; `npm run client-types` writes them", async () => {
  for (const [path, text] of Object.entries(await clientTypeFiles())) {
    assert.equal(readFileSync(join(projectFolder, path), 'utf8'), text, path)
  }
})
