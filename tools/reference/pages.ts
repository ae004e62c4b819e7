import { formatted } from '../formatted.ts'
import { commandLinePage } from './command-line.ts'
import { endpointPages } from './endpoint-pages.ts'
import { errorPages } from './error-pages.ts'
import { llmsText } from './llms.ts'

/** The folders that contain only generated pages. */
export const generatedFolders = ['docs/reference/endpoints', 'docs/reference/errors']

/** The generated pages of the reference, by path relative to the project. */
export async function referencePages(): Promise<Record<string, string>> {
  const pages = {
    ...errorPages(),
    ...endpointPages(),
    'command-line.md': await commandLinePage(),
  }
  const written = Object.entries(pages).map(async ([path, markdown]) => [
    `docs/reference/${path}`,
    await formatted(path, markdown),
  ])
  return { ...Object.fromEntries(await Promise.all(written)), 'llms.txt': llmsText() }
}
