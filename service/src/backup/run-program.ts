import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export interface ProgramOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly signal?: AbortSignal | undefined
}

/** More output than any of our programs writes. */
const maxBuffer = 16 * 1024 * 1024

/** Runs a program to its end. If it fails, rejects with an error whose message is its standard error; aborting kills it. */
export async function runToEnd(
  path: string,
  args: readonly string[],
  { env, signal }: ProgramOptions,
): Promise<void> {
  signal?.throwIfAborted()
  const running = promisify(execFile)(path, args, { maxBuffer, ...(env && { env }) })
  const kill = () => void running.child.kill('SIGKILL')
  signal?.addEventListener('abort', kill)
  try {
    await running
  } catch (error) {
    signal?.throwIfAborted()
    const { stderr = '', code } = error as {
      readonly stderr?: string
      readonly code?: number | string | null
    }
    throw new Error(stderr.trim() || `${path} ended with ${code ?? 'a signal'}`, { cause: error })
  } finally {
    signal?.removeEventListener('abort', kill)
  }
}
