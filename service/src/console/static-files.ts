import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { constants, brotliCompress, gzip } from 'node:zlib'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { consoleHeaders, page } from './pages.ts'

/** The folder of the built web app. */
export const builtConsole = join(import.meta.dirname, '../../console')

interface StaticFile {
  readonly bytes: Buffer
  readonly type: string
  readonly etag: string
  /** Whether its name contains a content hash. */
  readonly isHashed: boolean
  readonly compressed: Map<'br' | 'gzip', Promise<Buffer>>
}

/**
 * Serves the web app under `/console`: its files from memory, and `index.html` for every other path, for
 * client-side routing. If it is not built, says how to build it.
 */
export function serveStaticFiles(app: FastifyInstance, folder: string): void {
  const files = readFiles(folder)
  const index = files.get('index.html')

  app.get('/console', (_request, reply) => reply.headers(consoleHeaders).redirect('/console/', 308))
  app.get('/console/*', async (request, reply) => {
    const path = (request.params as { readonly '*': string })['*']
    const file = files.get(path)
    if (file) return sendFile(request, reply, file)
    // A missing asset is not a page of the app.
    if (path.startsWith('assets/')) return sendPage(reply, 404, missingFile)
    return index ? sendFile(request, reply, index) : sendPage(reply, 503, notBuilt)
  })
}

const missingFile = page('There is no such file', ['The console was updated. Load the page again.'], {
  href: '/console/',
  text: 'Open the console',
})

const notBuilt = page('The console is not built', [
  'This copy of Purser was started from its sources, and its web console has not been built yet.',
  'Run "npm run build:console" in the folder of the sources, and start the service again. Everything else works without it.',
])

/** Sends a server-rendered message page. */
export function sendPage(reply: FastifyReply, status: number, html: string): FastifyReply {
  return reply
    .headers({ ...consoleHeaders, 'cache-control': 'no-store' })
    .code(status)
    .type('text/html; charset=utf-8')
    .send(html)
}

/** The files that a process has read, by folder. */
const foldersRead = new Map<string, ReadonlyMap<string, StaticFile>>()

/** Reads and compresses files once in a process, so that all its services serve the same files, also while they are replaced. */
function readFiles(folder: string): ReadonlyMap<string, StaticFile> {
  const known = foldersRead.get(folder)
  if (known) return known
  const files = new Map<string, StaticFile>()
  if (!existsSync(folder)) return files
  foldersRead.set(folder, files)
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const type = types[extname(entry.name)]
    // Other files, such as source maps, are not served.
    if (!entry.isFile() || type === undefined) continue
    const bytes = readFileSync(path)
    const name = relative(folder, path).split(sep).join('/')
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
    files.set(name, { bytes, type, etag, isHashed: name.startsWith('assets/'), compressed: new Map() })
  }
  return files
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  // The licenses of the web app's dependencies.
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: StaticFile,
): Promise<FastifyReply> {
  void reply.headers({
    ...consoleHeaders,
    etag: file.etag,
    vary: 'accept-encoding',
    'cache-control': file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
  })
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
  const encoding = encodingFor(request.headers['accept-encoding'], file)
  if (encoding) void reply.header('content-encoding', encoding)
  return reply.type(file.type).send(encoding ? await compress(file, encoding) : file.bytes)
}

/** Smaller files are not compressed. */
const leastCompressed = 1_024

function encodingFor(accepted: string | undefined, { bytes, type }: StaticFile): 'br' | 'gzip' | undefined {
  if (bytes.length < leastCompressed || /^(image\/(png|x-icon)|font)/.test(type)) return undefined
  const offered = (accepted ?? '').split(',').map((one) => one.split(';')[0]?.trim())
  return offered.includes('br') ? 'br' : offered.includes('gzip') ? 'gzip' : undefined
}

/** Each file is compressed once per encoding, on first request. */
function compress(file: StaticFile, encoding: 'br' | 'gzip'): Promise<Buffer> {
  const known = file.compressed.get(encoding)
  if (known) return known
  const compressed =
    encoding === 'gzip'
      ? promisify(gzip)(file.bytes)
      : promisify(brotliCompress)(file.bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } })
  file.compressed.set(encoding, compressed)
  return compressed
}
