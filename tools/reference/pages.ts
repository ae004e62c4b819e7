import { answersOf, type Endpoint } from '@purser/wire/endpoint'
import { errorAnswers } from '@purser/wire/errors'
import { endpoints } from '@purser/wire/openapi'
import { format, resolveConfig } from 'prettier'

import { commandLinePage } from './command-line.ts'
import { projectFolder } from '../source-files.ts'
import { readSpecMap, renderSpecMap } from '../spec-map/spec-map.ts'

/** The pages of the reference that are made from the code, by their path from the project's folder. */
export async function referencePages(): Promise<Record<string, string>> {
  return {
    'docs/reference/errors.md': await formatted(errorsPage()),
    'docs/reference/endpoints.md': await formatted(endpointsPage()),
    'docs/reference/command-line.md': await formatted(await commandLinePage()),
    'docs/reference/spec-map.md': await formatted(renderSpecMap(readSpecMap())),
  }
}

async function formatted(markdown: string): Promise<string> {
  return format(markdown, { ...(await resolveConfig(`${projectFolder}/README.md`)), parser: 'markdown' })
}

function errorsPage(): string {
  const rows = Object.entries(errorAnswers).map(
    ([code, { status, when }]) => `| ${status} | \`${code}\` | ${when} |`,
  )
  return [
    '# Errors',
    '',
    'Every error answer but the 422 is `{"detail": "<code>"}`. A refused payment is no error: see',
    '[endpoints](endpoints.md). Made from the table in `packages/wire/src/errors.ts` by `npm run docs`.',
    '',
    '| Status | `detail` | When |',
    '|---|---|---|',
    ...rows.sort(),
    '',
    '## 422',
    '',
    'A request that does not fit its shape answers `{"detail": [item, …]}`, one item for each fault, in the',
    'order of the fields: `type`, `loc` (where it lies), `msg` (what is wrong and what would be right),',
    '`input` (what was sent) and `ctx` (the limits that were broken).',
  ].join('\n')
}

function endpointsPage(): string {
  const tags = [...new Set(endpoints.map(({ tag }) => tag))]
  return [
    '# Endpoints',
    '',
    'Every endpoint with its answers; errors stand in order of precedence. Made from `packages/wire/src` by',
    '`npm run docs`; a running service shows the same with its schemas at `/docs`.',
    ...tags.flatMap((tag) => [
      '',
      `## ${tag}`,
      ...endpoints.filter((one) => one.tag === tag).flatMap(endpointSection),
    ]),
  ].join('\n')
}

function endpointSection(one: Endpoint): string[] {
  const access = one.roles === 'public' ? 'none needed' : one.roles.map((role) => `\`${role}\``).join(', ')
  return [
    '',
    `### ${one.method} ${one.path}`,
    '',
    `${one.summary} Key: ${access}.`,
    ...(one.query ? ['', '| Query parameter | Type | Default |', '|---|---|---|', ...queryRows(one)] : []),
    ...(one.body
      ? ['', '| Field | Type | Required | Default |', '|---|---|---|---|', ...fieldRows(one.body)]
      : []),
    '',
    '| Status | Answer |',
    '|---|---|',
    ...answerRows(one),
  ]
}

interface Shape {
  readonly properties?: Record<string, Record<string, unknown>>
  readonly required?: readonly string[]
}

function fieldRows({ properties = {}, required = [] }: Shape): string[] {
  return Object.entries(properties).map(([name, schema]) => {
    const isRequired = required.includes(name) ? 'yes' : 'no'
    return `| ${name} | ${typeName(schema)} | ${isRequired} | ${standardOf(schema)} |`
  })
}

function queryRows(one: Endpoint): string[] {
  const { properties = {} } = one.query as unknown as Shape
  return Object.entries(properties).map(
    ([name, schema]) => `| ${name} | ${typeName(schema)} | ${standardOf(schema)} |`,
  )
}

function standardOf(schema: Record<string, unknown>): string {
  return schema['default'] === undefined ? '' : `\`${JSON.stringify(schema['default'])}\``
}

function typeName(schema: Record<string, unknown>): string {
  if (schema['const'] !== undefined) return `\`${JSON.stringify(schema['const'])}\``
  if (Array.isArray(schema['enum'])) return schema['enum'].map((word) => `\`${String(word)}\``).join(', ')
  if (Array.isArray(schema['anyOf'])) return schema['anyOf'].map(typeName).join(' or ')
  if (schema['type'] === 'array') return `list of ${typeName(schema['items'] as Record<string, unknown>)}`
  if (schema['pattern'] !== undefined) return 'decimal amount'
  return [schema['type'], schema['format']].filter(Boolean).join(', ')
}

function answerRows(one: Endpoint): string[] {
  const own = Object.entries(one.responses).map(
    ([status, schema]) => `| ${status} | ${typeOf(schema as Record<string, unknown>)} |`,
  )
  const hasInput = answersOf(one)[422] !== undefined
  const invalid = hasInput ? ['| 422 | [the faults of the request](errors.md#422) |'] : []
  const errors = one.errors.map((code) => `| ${errorAnswers[code].status} | \`${code}\` |`)
  return [...own, ...errors.slice(0, 3), ...invalid, ...errors.slice(3)]
}

function typeOf(schema: Record<string, unknown>): string {
  if (schema['type'] === 'array') return `list of: ${typeOf(schema['items'] as Record<string, unknown>)}`
  const { properties = {} } = schema as Shape
  return Object.keys(properties)
    .map((name) => `\`${name}\``)
    .join(', ')
}
