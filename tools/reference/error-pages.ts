import { errorAnswers, type ErrorCode } from '@purser/wire/errors'
import { endpoints } from '@purser/wire/openapi'

import { endpointLink, errorsInOrder } from './endpoint-pages.ts'
import {
  answerOf,
  isDenial,
  isVerificationFailure,
  pageOf,
  refusedWhen,
  remedies,
  words,
  type Word,
} from './words.ts'

/** The pages about errors and refusals, by path below docs/reference. */
export function errorPages(): Record<string, string> {
  return {
    'errors.md': indexPage(),
    ...Object.fromEntries(words.map((word) => [`errors/${pageOf(word)}`, wordPage(word)])),
  }
}

function indexPage(): string {
  const answers = Object.entries(errorAnswers).map(
    ([code, { status, when }]) => `| ${status} | ${link(code as ErrorCode)} | ${when} |`,
  )
  const refusals = Object.entries(refusedWhen).map(
    ([word, when]) =>
      `| ${isDenial(word as Word) ? '`reason_code`' : '`reason`'} | ${link(word as Word)} | ${when} |`,
  )
  return `# Errors

Every error response except a 422 for invalid values is \`{"detail": "<code>"}\`, and each answer carries \`x-request-id\`, under which the log has
the request. Generated from the table in \`packages/wire/src/errors.ts\` by \`npm run docs\`.

| Status | \`detail\` | When |
|---|---|---|
${answers.sort().join('\n')}

## 422

An invalid request gets \`{"detail": [item, …]}\`, one item per error, in field order: \`type\`, \`loc\` (the location),
\`msg\` (what is wrong and what is valid), \`input\` (the value that was sent) and \`ctx\` (the violated limits). In the
client: \`ValidationError\`, with \`items\`.

## Refused payments

A refused payment is not an error, but a result with a reason: \`reason_code\` of a proof, of evaluate (402) and of verify-agent
(403), in the order of the checks; \`reason\` of a verification (402), in the order of the steps.

| Field | Word | When |
|---|---|---|
${refusals.join('\n')}
`
}

function link(word: Word): string {
  return `[\`${word}\`](errors/${pageOf(word)})`
}

function wordPage(word: Word): string {
  const answer = answerOf(word)
  const parts = [`# ${word}`]
  if (answer) parts.push(`${answer.status} \`${JSON.stringify({ detail: word })}\`: ${answer.when}.`)
  if (isDenial(word)) {
    parts.push(`\`"reason_code": "${word}"\` in the response to a proposed payment: ${refusedWhen[word]}.`)
  }
  if (isVerificationFailure(word)) {
    parts.push(
      `\`"reason": "${word}"\` in the response to a verification: ${refusedWhen[word]}. It charges nothing.`,
    )
  }
  parts.push(`## How to fix it\n\n${remedies[word]}`)
  if (answer) parts.push(`## In the client\n\n\`${errorClass(answer.status)}\` with \`code\` \`${word}\`.`)
  const givenBy = endpoints.filter((one) => gives(one, word))
  if (givenBy.length > 0) {
    const lines = givenBy.map((one) => `- ${endpointLink(one, '../endpoints/')}`)
    parts.push(`## Returned by\n\n${lines.join('\n')}`)
  } else parts.push('Not specific to an endpoint: any request can get it.')
  parts.push('All errors: [errors](../errors.md).')
  return `${parts.join('\n\n')}\n`
}

/** The client's error class, by status. */
function errorClass(status: number): string {
  const classes: Record<number, string> = {
    400: 'BadRequestError',
    401: 'AuthenticationError',
    403: 'PermissionError',
    404: 'NotFoundError',
    409: 'ConflictError',
    413: 'PayloadTooLargeError',
    503: 'UnavailableError',
  }
  return classes[status] ?? (status >= 500 ? 'ServerError' : 'ApiError')
}

function gives(one: (typeof endpoints)[number], word: Word): boolean {
  if ((errorsInOrder(one) as readonly Word[]).includes(word)) return true
  // A proof names no merchant, so this is checked at verification.
  if (word === 'merchant_not_allowed' && one.id === 'issueProof') return false
  const field = isDenial(word) ? 'reason_code' : 'reason'
  return Object.entries(one.responses).some(([status, schema]) => {
    const { properties = {} } = schema as { properties?: Record<string, { enum?: readonly string[] }> }
    return Number(status) >= 400 && properties[field]?.enum?.includes(word) === true
  })
}
