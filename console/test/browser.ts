import { spawnSync } from 'node:child_process'
import { createReadStream, createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress } from 'node:zlib'

import { chromium, type Browser } from 'playwright-core'

import { projectFolder } from '../../tools/source-files.ts'

/** Debian's own, where somebody installed it. */
const debianChromium = '/usr/bin/chromium'

/** Loopback only: nothing is looked up, fetched or reported in the background. */
const quietFlags = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
]

/**
 * A headless Chromium: Debian's where it is installed, else the one that npm brought. There is no test of the
 * console without a browser, so one that cannot be started is an error that says what is missing.
 */
export async function startBrowser(): Promise<Browser> {
  const executablePath = existsSync(debianChromium) ? debianChromium : await unpackedChromium()
  // Chromium's own sandbox does not work for root; the pages are ours.
  const args = process.getuid?.() === 0 ? [...quietFlags, '--no-sandbox'] : quietFlags
  try {
    return await chromium.launch({ executablePath, args, timeout: 30_000 })
  } catch (error) {
    const libraries = await unpackedLibraries()
    const env = { ...process.env, LD_LIBRARY_PATH: [libraries, process.env['LD_LIBRARY_PATH']].join(':') }
    try {
      return await chromium.launch({ executablePath, args, env, timeout: 30_000 })
    } catch {
      throw new Error(
        `Chromium (${executablePath}) cannot be started, so the console cannot be tested; on Debian, "apt-get install chromium" helps`,
        { cause: error },
      )
    }
  }
}

const packed = join(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium')), '../bin')
const cacheFolder = join(projectFolder, 'node_modules/.cache/purser-chromium')

/** The browser of `@sparticuz/chromium`, unpacked once for all test files. */
function unpackedChromium(): Promise<string> {
  return unpackedOnce('chromium', async (path) => {
    await pipeline(
      createReadStream(join(packed, 'chromium.br')),
      createBrotliDecompress(),
      createWriteStream(path, { mode: 0o755 }),
    )
  })
}

/** The shared libraries that Chromium needs, for machines that lack them. */
async function unpackedLibraries(): Promise<string> {
  const folder = await unpackedOnce('libraries', async (path) => {
    mkdirSync(path)
    const archive = `${path}.tar`
    await pipeline(
      createReadStream(join(packed, 'al2023.tar.br')),
      createBrotliDecompress(),
      createWriteStream(archive),
    )
    spawnSync('tar', ['-xf', archive, '-C', path])
    rmSync(archive)
  })
  return join(folder, 'lib')
}

/** Test files run at the same time: each unpacks to a place of its own, and the first to be done wins. */
async function unpackedOnce(name: string, unpack: (path: string) => Promise<void>): Promise<string> {
  const path = join(cacheFolder, name)
  if (existsSync(path)) return path
  mkdirSync(cacheFolder, { recursive: true })
  const own = `${path}.${process.pid}`
  await unpack(own)
  try {
    renameSync(own, path)
  } catch {
    rmSync(own, { recursive: true, force: true })
  }
  return path
}
