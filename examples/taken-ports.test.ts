import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'

const other = createServer()
await new Promise<void>((resolve) => other.listen(0, resolve))
after(() => other.close())
const { port } = other.address() as AddressInfo

for (const example of ['merchant-express', 'merchant-hono', 'merchant-node']) {
  test(`${example} reports a port in use, and exits with 1`, () => {
    const env = {
      ...process.env,
      PORT: String(port),
      PURSER_MERCHANT_KEY: 'svc_sand_none',
      PURSER_URL: 'http://x',
    }
    const script = join(import.meta.dirname, example, 'server.js')
    const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
      env,
      encoding: 'utf8',
      timeout: 20_000,
    })
    assert.deepEqual(
      { status, stdout, stderr },
      {
        status: 1,
        stdout: '',
        stderr: `Port ${port} is in use. Stop the process that uses it, or choose another port: PORT=3001\n`,
      },
    )
  })
}
