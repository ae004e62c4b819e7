import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { openApiDocument } from '@purser/wire/openapi/document'
import openapiTypescript, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { InputData, JSONSchemaInput, quicktype } from 'quicktype-core'
import ts from 'typescript'

const json = JSON.stringify(openApiDocument)
const { schemas } = openApiDocument.components
const names = Object.keys(schemas)

const folder = mkdtempSync(join(tmpdir(), 'purser-openapi-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test("Redocly's recommended rules find no error and no warning in the OpenAPI document", async () => {
  const documentPath = join(folder, 'openapi.json')
  writeFileSync(documentPath, json)
  const redocly = fileURLToPath(
    import.meta.resolve('@redocly/cli/package.json').replace(/package\.json$/, 'bin/cli.js'),
  )
  const config = fileURLToPath(new URL('redocly.yaml', import.meta.url))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [redocly, 'lint', documentPath, `--config=${config}`, '--format=json'],
    {
      timeout: 60_000,
      maxBuffer: 10_000_000,
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  ).catch((error: { readonly stdout: string }) => error)
  const { totals, problems } = JSON.parse(stdout) as Report
  assert.deepEqual(
    problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
    [],
  )
  assert.deepEqual([totals.errors, totals.warnings, totals.ignored], [0, 0, 0])
})

interface Report {
  readonly totals: { readonly errors: number; readonly warnings: number; readonly ignored: number }
  readonly problems: readonly {
    readonly ruleId: string
    readonly message: string
    readonly location: readonly { readonly pointer?: string }[]
  }[]
}

test('openapi-typescript generates a named model for every schema, and they compile', async () => {
  const code = astToString(
    await openapiTypescript(JSON.parse(json) as OpenAPI3, {
      rootTypes: true,
      rootTypesNoSchemaPrefix: true,
    }),
  )
  for (const name of names) assert.match(code, new RegExp(`^export type ${name} = `, 'm'))
  assert.match(
    code,
    /requestBody: \{\s+content: \{\s+"application\/json": components\["schemas"\]\["NewMandate"\]/,
  )
  assert.match(code, /reason_code: components\["schemas"\]\["DenialCode"\]/)
  assert.match(code, /@description Max amount of one payment in USDC/)
  const { diagnostics = [] } = ts.transpileModule(code, { reportDiagnostics: true })
  assert.deepEqual(diagnostics, [])
})

test('quicktype generates a named Python class for every schema, none with a number', async () => {
  const input = new JSONSchemaInput(undefined)
  const properties = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/schemas/${name}` }]))
  const all = { type: 'object', properties, required: names, components: openApiDocument.components }
  await input.addSource({ name: 'EverySchema', schema: JSON.stringify(all) })
  const inputData = new InputData()
  inputData.addInput(input)
  const { lines } = await quicktype({
    inputData,
    lang: 'python',
    combineClasses: false,
    rendererOptions: { 'just-types': 'true' },
  })
  const classes = lines.flatMap((line) => /^class (\w+)/.exec(line)?.[1] ?? [])
  // Python spells it `APIKey`.
  const known = new Set(classes.map((name) => name.toLowerCase()))
  assert.deepEqual(
    names.filter((name) => !known.has(name.toLowerCase())),
    [],
  )
  assert.deepEqual(
    classes.filter((name) => /(\d|Class|Element)$/.test(name)),
    [],
  )
  assert.ok(lines.includes('    spent_total: str'))
})
