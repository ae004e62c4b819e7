import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { makeFolder, runProcess, startProcess } from './process.ts'

const projectFolder = join(import.meta.dirname, '../..')
const guide = readFileSync(join(projectFolder, 'docs/guides/operators.md'), 'utf8')
const [, chapter = ''] = guide.split('\n## Backups\n')
const commands = [...chapter.matchAll(/```sh\n(.*?)```/gs)].map(([, command = '']) => command).slice(0, 2)

test('The guide has two commands that make a backup', () => {
  assert.deepEqual(
    commands.map((command) => command.includes('sqlite3 data/') || command.includes('node:sqlite')),
    [true, true],
  )
})

const noSqlite = spawnSync('sqlite3', ['--version']).error ? 'the sqlite3 command is not there' : false
for (const command of commands) {
  const how = command.includes('node:sqlite') ? 'Node' : 'sqlite3'
  test(
    `A backup by ${how}, as the guide has it, is for its user alone, ignored by git, and checked without a trace [decision.109]`,
    { skip: how === 'sqlite3' && noSqlite },
    async (context) => {
      const folder = makeFolder(context)
      symlinkSync(join(projectFolder, 'node_modules'), join(folder, 'node_modules'))
      const service = await startProcess(context, { folder })
      // Whoever made the folder himself may have left it open.
      chmodSync(join(folder, 'data'), 0o755)
      const before = readdirSync(join(folder, 'data'))
      // A second backup takes the place of the first.
      for (const time of ['first', 'second']) {
        const { status, stderr } = spawnSync('sh', ['-c', `umask 022\n${command}`], {
          cwd: folder,
          encoding: 'utf8',
        })
        assert.deepEqual([status, stderr], [0, ''], time)
      }
      assert.equal((await service.kill('SIGTERM')).code, 0)
      const path = join(folder, 'data/backup.db')
      assert.equal(statSync(path).mode & 0o777, 0o600)
      assert.deepEqual(readdirSync(folder).sort(), ['data', 'node_modules'])
      execFileSync('git', ['check-ignore', '--quiet', '--no-index', 'data/backup.db'], { cwd: projectFolder })

      const flags = ['ledger', 'check', '--database', 'sqlite:data/backup.db']
      const { code, stdout, stderr } = await runProcess(context, { folder, program: 'purser.ts', flags })
      assert.deepEqual([code, stderr], [0, ''])
      assert.match(stdout, /Every sum agrees with its records\./)
      assert.deepEqual(
        readdirSync(join(folder, 'data')).filter((name) => !before.includes(name)),
        ['backup.db'],
      )
    },
  )
}
