import { sourceFiles } from '../source-files.ts'
import { rules } from './rules.ts'

/** A test that covers a rule: file and title. */
export interface Evidence {
  readonly path: string
  readonly title: string
}

export interface SpecMap {
  /** The tests of each rule, by its id. */
  readonly evidence: ReadonlyMap<string, readonly Evidence[]>
  /** Rules without a test. */
  readonly untested: readonly string[]
  /** Unknown rules in test titles. */
  readonly unknown: readonly string[]
}

/** The map from rules to tests, read from all test titles. */
export function readSpecMap(): SpecMap {
  const known = Object.values(rules).flatMap((chapter) => chapter.map(([id]) => id))
  const evidence = new Map<string, Evidence[]>(known.map((id) => [id, []]))
  const unknown: string[] = []
  for (const { path, text } of sourceFiles(['packages', 'service', 'console', 'tools', 'examples'])) {
    if (!path.endsWith('.test.ts') && !path.endsWith('scenarios.ts')) continue
    for (const title of titlesIn(text)) {
      for (const id of idsIn(title)) {
        const found = evidence.get(id)
        if (found) found.push({ path, title: title.replaceAll(/\s*\[[^\]]+\]/g, '') })
        else unknown.push(`${path}: [${id}] in “${title}”`)
      }
    }
  }
  return { evidence, unknown, untested: known.filter((id) => evidence.get(id)?.length === 0) }
}

/** The map as a page: chapter and rule → file → test. */
export function renderSpecMap({ evidence }: SpecMap): string {
  const lines = [
    '# Spec map',
    '',
    'Which test covers which rule of interface 0.1.0 (docs/reference/interface-0.1.0.md).',
    'Generated from test titles; a rule without a test fails `npm test`.',
  ]
  for (const [chapter, entries] of Object.entries(rules)) {
    lines.push('', `## ${chapter}`)
    for (const [id, sentence] of entries) {
      lines.push('', `### ${id}`, '', sentence, '')
      for (const { path, title } of evidence.get(id) ?? []) lines.push(`- \`${path}\`: ${escape(title)}`)
    }
  }
  return `${lines.join('\n')}\n`
}

/** The first string of each call of test, it, describe or a demo chapter, and the titles in tables of tests. */
function titlesIn(text: string): string[] {
  const calls = text.matchAll(
    /\b(?:(?:test|it|describe|chapter)(?:\.\w+)?\(|title:)\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g,
  )
  return [...calls].map(([, single, double, template]) =>
    (single ?? double ?? template ?? '').replaceAll(/\\(.)/g, '$1'),
  )
}

function idsIn(title: string): string[] {
  return [...title.matchAll(/\[([a-z][\w-]*(?:\.[\w-]+)+)\]/g)].map(([, id = '']) => id)
}

function escape(text: string): string {
  return text.replaceAll(/([*_<>[\]])/g, '\\$1')
}
