import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Why Redis cannot be started here; false if it can. */
export const redisMissing =
  spawnSync('redis-server', ['--version']).status === 0 ? false : 'redis-server is not installed'

/** A Redis without persistence on a free local port; it is killed after the tests. */
export async function startRedis(context: {
  readonly after: (stop: () => Promise<void>) => void
}): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  const port = await freePort()
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '']
  const server = spawn('redis-server', [...settings, '--appendonly', 'no'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => server.once('close', resolve))
  context.after(async () => {
    if (server.exitCode === null) server.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  await new Promise<void>((resolve, reject) => {
    let output = ''
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.includes('Ready to accept connections')) resolve()
    })
    void ended.then(() => reject(new Error(`redis-server ended:\n${output}`)))
  })
  return `redis://127.0.0.1:${port}`
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
