import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { endpoints } from '@purser/wire/openapi'

import { projectFolder } from '../source-files.ts'
import { endpointLink } from './endpoint-pages.ts'

/** `llms.txt`: the pages of this repository for language models. */
export function llmsText(): string {
  return `# Purser

> A self-hosted service for spending mandates of software agents: an owner gives an agent a budget with limits, the agent
> gets a signed proof whose amount is held, a merchant has it verified, which charges it, once.

Bodies and answers are JSON over HTTP; amounts are text, compared as text (\`10.0\` is not \`10.00\`). A refused payment is
a result with a \`reason_code\` and a sentence that names the remedy.

## Begin here

- [README](README.md): what it is, and a first purchase in five minutes
${guides().join('\n')}

## Packages

${packages().join('\n')}

## Reference

- [Endpoints](docs/reference/endpoints.md): an index of the pages below
${endpoints.map((one) => `- ${endpointLink(one, 'docs/reference/endpoints/')}: ${one.summary}`).join('\n')}
- [Commands](docs/reference/command-line.md): every command of \`purser\`, with its options and exit codes
- [Errors](docs/reference/errors.md): every error code and refusal reason, with a page each
- [Interface 0.1.0](docs/reference/interface-0.1.0.md): the contract itself
- [Glossary](docs/glossary.md): what the terms mean

## Optional

- [Architecture](ARCHITECTURE.md): how the service is built
- [Decisions](docs/decisions/README.md): what the interface leaves open, and how it is decided
`
}

function guides(): string[] {
  return readdirSync(join(projectFolder, 'docs/guides'))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => lineFor(`docs/guides/${name}`))
}

function packages(): string[] {
  const folders = readdirSync(join(projectFolder, 'packages')).sort()
  return [...folders.map((name) => `packages/${name}/README.md`), 'service/README.md']
    .filter((path) => existsSync(join(projectFolder, path)))
    .map(lineFor)
}

/** A link to a page by its title, with its first sentence. */
function lineFor(path: string): string {
  const [heading = '', paragraph = ''] = readFileSync(join(projectFolder, path), 'utf8').split(/\n\n+/)
  const [sentence = ''] = withoutLinks(paragraph.replaceAll('\n', ' ')).split(/(?<=\.) /)
  return `- [${heading.replace(/^# /, '')}](${path}): ${sentence}`
}

function withoutLinks(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
}
