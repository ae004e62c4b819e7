import { dirname, join } from 'node:path'

import type { SourceFile } from './source-files.ts'

/** An import of a file: a path relative to the project, or a package with the prefix `npm:` or `node:`. */
export interface Import {
  readonly target: string
  readonly isType: boolean
}

/** All static imports and re-exports of a file, and its dynamic imports of literal names. */
export function importsOf(file: SourceFile): Import[] {
  const statements = file.text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'"]*?from\s+)?'([^']+)'/gms)
  const calls = file.text.matchAll(/\bimport\(\s*'([^']+)'\s*\)/g)
  return [
    ...[...statements].map(([, type, specifier = '']) => ({
      target: targetOf(file.path, specifier),
      isType: type !== undefined,
    })),
    ...[...calls].map(([, specifier = '']) => ({ target: targetOf(file.path, specifier), isType: false })),
  ]
}

function targetOf(path: string, specifier: string): string {
  if (specifier.startsWith('node:')) return specifier
  if (specifier.startsWith('.')) return join(dirname(path), specifier)
  if (specifier.startsWith('@purser/wire/')) {
    return `packages/wire/src/${specifier.slice('@purser/wire/'.length)}.ts`
  }
  return `npm:${specifier}`
}
