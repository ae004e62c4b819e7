import { build } from 'esbuild'
import { gzipSync } from 'node:zlib'

import type { PublishedPackage } from './packages.ts'

/**
 * Our code that these imports load, as one minified script. Throws for the platform `any` if Node's modules are among
 * it.
 */
export async function bundle(
  project: string,
  imports: readonly string[],
  platform: PublishedPackage['platform'] = 'any',
): Promise<string> {
  const contents = imports.map((name, at) => `export * as part${at} from ${JSON.stringify(name)}`).join('\n')
  const result = await build({
    stdin: { contents, resolveDir: project, loader: 'js' },
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    globalName: 'bundled',
    platform: platform === 'any' ? 'browser' : 'node',
    external: ['express', 'fastify', 'hono', 'next'],
    target: 'es2022',
    logLevel: 'silent',
  })
  return result.outputFiles[0]?.text ?? ''
}

/** The compressed size of a text in bytes. */
export function gzippedBytes(text: string): number {
  return gzipSync(text, { level: 9 }).length
}
