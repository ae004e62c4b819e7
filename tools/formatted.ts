import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { format, type FormatConfig } from 'oxfmt'

import { projectFolder } from './source-files.ts'

const settings = JSON.parse(readFileSync(join(projectFolder, '.oxfmtrc.json'), 'utf8')) as FormatConfig

/** Generated code or Markdown, formatted like every other file with that name. */
export async function formatted(name: string, text: string): Promise<string> {
  const { code, errors } = await format(name, text, settings)
  if (errors.length > 0) throw new Error(`${name}: ${errors.map(({ message }) => message).join('; ')}`)
  return code
}
