import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { test } from 'node:test'

import { publint } from 'publint'

import { projectFolder } from '../source-files.ts'
import { olderNode, run } from './run.ts'
import { stage } from './stage.ts'

const promises = { bundles: [], program: '', mayDepend: true }
const requireFromMcp = createRequire(join(projectFolder, 'packages/mcp/package.json'))

/** The folder of an installed package. */
function folderOf(name: string): string {
  const entry = requireFromMcp.resolve(name)
  const inside = join('node_modules', ...name.split('/'))
  return entry.slice(0, entry.lastIndexOf(inside + sep) + inside.length)
}

test('@purser/mcp, as it is published, has a clean package and runs under Node 22 and 24 [decision.92]', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-mcp-packed-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const client = { ...promises, name: '@purser/client', folder: 'packages/client', platform: 'any' as const }
  const mcp = { ...promises, name: '@purser/mcp', folder: 'packages/mcp', platform: 'node' as const }
  const stagedClient = await stage(client, folder, [])
  const stagedMcp = await stage(mcp, folder, [stagedClient])
  const { messages } = await publint({ pkgDir: stagedMcp.folder, strict: true })
  assert.deepEqual(messages, [])

  // Beside what it depends on, as npm would lay it out.
  const modules = join(folder, 'project/node_modules')
  for (const { name, folder: staged } of [stagedClient, stagedMcp]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    renameSync(staged, join(modules, name))
  }
  for (const name of ['zod', '@modelcontextprotocol/server']) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(folderOf(name), join(modules, name))
  }
  const project = join(folder, 'project')
  for (const node of [process.execPath, olderNode]) {
    const version = await run(node, [join(modules, '@purser/mcp/dist/main.js'), '--version'], {
      cwd: project,
    })
    assert.match(version, /^\d+\.\d+\.\d+\n$/)
    const program = "import { openWallet } from '@purser/mcp'; console.log(typeof openWallet)"
    assert.equal(await run(node, ['--input-type=module', '-e', program], { cwd: project }), 'function\n')
  }
})
