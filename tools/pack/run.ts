import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { projectFolder } from '../source-files.ts'

/** An older release of Node. */
export const olderNode = join(import.meta.dirname, 'node_modules/.bin/node')

const timeoutMs = 120_000

/** The output of a program; throws with all of it if the program fails. */
export async function run(
  program: string,
  parameters: readonly string[],
  { cwd, environment = {} }: { readonly cwd: string; readonly environment?: Record<string, string> },
): Promise<string> {
  try {
    // `npm test` sets variables for its scripts that would make another npm work on this project.
    const inherited = Object.entries(process.env).filter(([name]) => !/^npm_(?!config_cache)/i.test(name))
    const env = { ...Object.fromEntries(inherited), ...environment }
    const { stdout } = await promisify(execFile)(program, parameters, { cwd, env, timeout: timeoutMs })
    return stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} ${parameters.join(' ')} failed in ${cwd}\n${stdout}${stderr}`, {
      cause: error,
    })
  }
}

/** Runs the current TypeScript. Its default of four checkers, each of which knows no types of the others, takes twice the CPU. */
export async function runTsc(parameters: readonly string[], cwd: string): Promise<void> {
  await run(join(projectFolder, 'node_modules/.bin/tsc'), ['--checkers', '1', ...parameters], { cwd })
}
