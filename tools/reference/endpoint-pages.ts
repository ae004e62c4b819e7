import { whenGiven, type Endpoint } from '@purser/wire/endpoint'
import { errorAnswers, type ErrorCode } from '@purser/wire/errors'
import { endpoints, retries } from '@purser/wire/openapi'
import type { Schema } from '@purser/wire/schema/type'

import { clientCalls } from './client-calls.ts'
import { fieldsOf, notesOn, standardOf, typeName } from './fields.ts'
import { pageOf } from './words.ts'

/** The pages about the endpoints, by path below docs/reference. */
export function endpointPages(): Record<string, string> {
  return {
    'endpoints.md': indexPage(),
    ...Object.fromEntries(endpoints.map((one) => [`endpoints/${fileOf(one)}`, endpointPage(one)])),
  }
}

/** A link to the page of an endpoint. */
export function endpointLink(one: Endpoint, folder: string): string {
  return `[${one.method} ${one.path}](${folder}${fileOf(one)})`
}

/** `createApiKey` is on `create-api-key.md`. */
function fileOf({ id }: Endpoint): string {
  return `${id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.md`
}

/** The errors of an endpoint in order of precedence; `422` means invalid requests. */
export function errorsInOrder(one: Endpoint): (ErrorCode | '422')[] {
  return [
    ...one.errors.filter(isBeforeTheRequest),
    ...(one.method === 'GET' ? [] : (['payload_too_large'] as const)),
    ...(one.body ? (['There was an error parsing the body'] as const) : []),
    ...(one.body || one.query ? (['422'] as const) : []),
    ...one.errors.filter((code) => !isBeforeTheRequest(code)),
  ]
}

function isBeforeTheRequest(code: ErrorCode): boolean {
  return errorAnswers[code].status === 401 || code === 'insufficient_scope'
}

function indexPage(): string {
  const tags = [...new Set(endpoints.map(({ tag }) => tag))]
  const sections = tags.map((tag) => {
    const rows = endpoints.filter((one) => one.tag === tag).map(indexRow)
    return `## ${tag}\n\n| Endpoint | | Key |\n|---|---|---|\n${rows.join('\n')}`
  })
  return `# Endpoints

One page per endpoint, with its request, responses, and errors in order of precedence. Generated from \`packages/wire/src\` by
\`npm run docs\`; a running service shows the same with its schemas at \`/docs\`.

${sections.join('\n\n')}
`
}

function indexRow(one: Endpoint): string {
  return `| ${endpointLink(one, 'endpoints/')} | ${one.summary} | ${accessTo(one)} |`
}

function accessTo({ roles }: Endpoint): string {
  return roles === 'public' ? 'none needed' : roles.map((role) => `\`${role}\``).join(', ')
}

function endpointPage(one: Endpoint): string {
  const parts = [
    `# ${one.method} ${one.path}`,
    one.summary,
    `Key: ${accessTo(one)}. In the client: \`${clientCalls[one.id]}\`.`,
    '## Request',
    ...requestParts(one),
    '## Answers',
    ...Object.entries(one.responses).flatMap(([status, schema]) => answerParts(one, status, schema)),
    ...errorParts(one),
    'All of them: [endpoints](../endpoints.md).',
  ]
  return `${parts.join('\n\n')}\n`
}

function requestParts(one: Endpoint): string[] {
  const parts: string[] = []
  const named = fieldsOf(one.params ?? {}).map(({ name }) => `\`${name}\``)
  if (named.length > 0) parts.push(`In the path: ${named.join(', ')}, the id.`)
  const retry = retries[one.id]
  if (retry !== undefined) parts.push(`Header \`Idempotency-Key\`, optional: ${retry}`)
  if (one.query) {
    const rows = fieldsOf(one.query).map(
      ({ name, schema }) =>
        `| \`${name}\` | ${typeName(schema)} | ${standardOf(schema)} | ${notesOn(schema)} |`,
    )
    parts.push(`| Query parameter | Type | Default | |\n|---|---|---|---|\n${rows.join('\n')}`)
  }
  if (one.body) {
    const rows = fieldsOf(one.body).map(
      ({ name, isRequired, schema }) =>
        `| \`${name}\` | ${typeName(schema)} | ${isRequired ? 'yes' : 'no'} | ${standardOf(schema)} | ${notesOn(schema)} |`,
    )
    parts.push(
      `A JSON object:`,
      `| Field | Type | Required | Default | |\n|---|---|---|---|---|\n${rows.join('\n')}`,
    )
  }
  return parts.length > 0 ? parts : ['No parameters and no body.']
}

function answerParts(one: Endpoint, status: string, schema: Schema): string[] {
  const twin = Object.entries(one.responses).find(([other, known]) => other !== status && known === schema)
  if (twin && Number(status) >= 400) {
    return [
      `### ${status}`,
      `${meaningOf(one, status)} A refusal, which is a result, not an error, with the same fields as ${twin[0]}.`,
    ]
  }
  if (one.produces === 'text/csv') return [`### ${status}`, meaningOf(one, status)]
  const isList = schema.type === 'array'
  const rows = fieldsOf(isList ? (schema.items ?? {}) : schema).map(
    ({ name, schema: field }) => `| \`${name}\` | ${typeName(field)} | ${notesOn(field)} |`,
  )
  const isPage = isList && one.query?.properties['cursor'] !== undefined
  const kind = isPage
    ? 'a list, newest first; `Link: <…>; rel="next"` has the URL of the next page, if there is one. Each item:'
    : isList
      ? 'a list. Each item:'
      : Number(status) >= 400
        ? 'a refusal, which is a result, not an error:'
        : 'an object:'
  return [
    `### ${status}`,
    `${meaningOf(one, status)} ${kind[0]?.toUpperCase()}${kind.slice(1)}`,
    `| Field | Type | |\n|---|---|---|\n${rows.join('\n')}`,
  ]
}

function meaningOf(one: Endpoint, status: string): string {
  return one.responseDescriptions[Number(status)] ?? ''
}

function errorParts(one: Endpoint): string[] {
  const errors = errorsInOrder(one)
  if (errors.length === 0) return []
  const rows = errors.map((code) =>
    code === '422'
      ? '| 422 | [validation errors](../errors.md#422) | the request is invalid |'
      : `| ${errorAnswers[code].status} | [\`${code}\`](../errors/${pageOf(code)}) | ${whenGiven(one, code)} |`,
  )
  return [
    '### Errors, in order of precedence',
    `| Status | \`detail\` | When |\n|---|---|---|\n${rows.join('\n')}`,
    ...laterErrors(one),
  ]
}

/** Exceptions to the order above. */
function laterErrors(one: Endpoint): string[] {
  if (one.roles === 'public') return []
  const { properties = {} } = one.body ?? {}
  return [
    ...(one.roles.includes('agent') && 'agent_id' in properties
      ? ["`insufficient_scope` is also returned after the 422, if an agent's key names another agent."]
      : []),
    '`store_unavailable` is returned earlier if the key cannot be looked up.',
  ]
}
