import { dirname, join } from 'node:path'

import type { SourceFile } from './source-files.ts'

/** What a file imports: a path from the project's folder, or a package with `npm:` or `node:` before its name. */
export interface Import {
  readonly target: string
  readonly isType: boolean
}

/** Every static import and re-export of a file, and its dynamic imports of literal names. */
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
