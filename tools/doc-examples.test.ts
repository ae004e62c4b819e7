import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { projectFolder, sourceFiles, type SourceFile } from './source-files.ts'

/** The modules whose exports an example may use, in addition to those of its own file. */
const modules = ['client/src/client.ts', 'mcp/src/mcp.ts', 'merchant/src/node.ts']

/** What an example may use without defining it, and its type. */
const given: Readonly<Record<string, string>> = {
  accountId: 'string',
  agentId: 'string',
  apiKey: 'string',
  app: 'any',
  approval: 'ApprovalReference',
  budgetId: 'string',
  client: 'Purser',
  fetchPaid: 'PayingFetch',
  handler: '() => Response',
  id: 'string',
  keyId: 'string',
  mandateId: 'string',
  merchantDomain: 'string',
  payment: 'ProposedPayment & ProofRequest',
  proof: 'Proof',
  purser: 'Purser',
  sessionId: 'string',
  transactionId: 'string',
  url: 'string',
}

const types = ['ApprovalReference', 'PayingFetch', 'Proof', 'ProofRequest', 'ProposedPayment']

test('Every example in the documentation of an export compiles', async (context) => {
  const files = sourceFiles(['client', 'merchant', 'mcp'].map((name) => `packages/${name}/src`))
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  let count = 0
  for (const file of files) {
    const examples = examplesIn(file.text)
    if (examples.length === 0) continue
    const name = `${file.path.replaceAll('/', '-').replace(/\.ts$/, '')}.mts`
    writeFileSync(join(folder, name), await moduleOf(file, examples))
    count += examples.length
  }
  assert.ok(count > 40)
  const options = { types: ['node'], typeRoots: [join(projectFolder, 'node_modules/@types')] }
  const flags = { noUnusedLocals: false, noUnusedParameters: false, noImplicitReturns: false }
  const config = { extends: join(projectFolder, 'tsconfig.json'), compilerOptions: { ...options, ...flags } }
  symlinkSync(join(projectFolder, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...config, include: ['*.mts'] }))
  const tsc = join(projectFolder, 'node_modules/typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  assert.deepEqual([status, stdout], [0, ''])
})

/** The examples in the comments of a file. */
function examplesIn(text: string): string[] {
  return [...text.matchAll(/^ *\* @example\n((?: *\* .*\n)+?) *\*\//gm)].map(([, lines = '']) =>
    lines.replaceAll(/^ *\* /gm, ''),
  )
}

/** A module that has each example as a function, with the exports of its file and of the client. */
async function moduleOf({ path }: SourceFile, examples: readonly string[]): Promise<string> {
  const imports: string[] = []
  const known = new Set<string>()
  for (const file of [path, ...modules.map((one) => `packages/${one}`)].map((one) =>
    join(projectFolder, one),
  )) {
    const names = Object.keys((await import(file)) as object).filter((name) => !known.has(name))
    names.forEach((name) => known.add(name))
    imports.push(`import { ${names.join(', ')} } from ${JSON.stringify(file)}`)
  }
  const functions = examples.map((example, place) => {
    const names = Object.keys(given).filter(
      (name) => !new RegExp(`(const|let) [^=]*\\b${name}\\b[^=]* =`).test(example),
    )
    const parameters = names.map((name) => `${name}: ${given[name]}`).join(', ')
    return `export async function example${place + 1}(${parameters}) {\n${example.replaceAll(/^export /gm, '')}}\n`
  })
  return [
    "import { createServer } from 'node:http'",
    "import { DatabaseSync } from 'node:sqlite'",
    "import { writeFile } from 'node:fs/promises'",
    "import { serveStdio } from '@modelcontextprotocol/server/stdio'",
    'declare const Deno: any',
    ...imports,
    `import type { ${types.join(', ')} } from '@purser/client'`,
    ...functions,
  ].join('\n')
}
