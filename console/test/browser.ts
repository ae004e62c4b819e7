import { spawnSync } from 'node:child_process'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
} from 'node:fs'
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

/** Pages do not live long enough for code that the optimizing compiler makes to be worth its processor time. */
const leanFlags = ['--js-flags=--no-opt']

/**
 * A headless Chromium: Debian's where it is installed, else the one that npm brought. There is no test of the
 * console without a browser, so one that cannot be started is an error that says what is missing.
 */
export async function startBrowser(): Promise<Browser> {
  const executablePath = existsSync(debianChromium) ? debianChromium : await unpackedChromium()
  // Chromium's own sandbox does not work for root; the pages are ours.
  const sandboxFlags = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const args = [...quietFlags, ...leanFlags, ...sandboxFlags]
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
async function unpackedChromium(): Promise<string> {
  const folder = await unpackedOnce(join(cacheFolder, 'browser'), async (path) => {
    await pipeline(
      createReadStream(join(packed, 'chromium.br')),
      createBrotliDecompress(),
      createWriteStream(join(path, 'chromium'), { mode: 0o755 }),
    )
  })
  return join(folder, 'chromium')
}

/** The shared libraries that Chromium needs, for machines that lack them. */
async function unpackedLibraries(): Promise<string> {
  const folder = await unpackedOnce(join(cacheFolder, 'libraries'), async (path) => {
    const archive = join(path, 'libraries.tar')
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

/**
 * Fills a folder once. Test files run at the same time: each unpacks into a folder of its own, and the first to finish
 * wins. A folder with files is never replaced, unlike a file: Chromium would not find itself to start its processes.
 */
export async function unpackedOnce(folder: string, unpack: (own: string) => Promise<void>): Promise<string> {
  if (existsSync(folder)) return folder
  mkdirSync(dirname(folder), { recursive: true })
  const own = mkdtempSync(`${folder}.`)
  await unpack(own)
  try {
    renameSync(own, folder)
  } catch (error) {
    rmSync(own, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
  return folder
}
