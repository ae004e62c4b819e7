import { readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { createIds } from '../src/ids.ts'
import { openSqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { openPostgresStore } from '../src/store/postgres/postgres-store.ts'
import { StoreLedger } from '../testing/store-ledger.ts'
import { postgres18 } from '../testing/postgres.ts'
import { execute } from '../testing/postgres-databases.ts'
const src = readFileSync(new URL('./stop-many.test.ts', import.meta.url), 'utf8')
const copiesOf = new Function('agents', 'zeros', 'firstNumber', 'return ' + src.slice(src.indexOf('function copiesOf')).replace(/: Purchase\): string\[\]/, ')').replace(/\(prefix: string\)/, '(prefix)'))(10000, '0'.repeat(19), 1000000)
for (const kind of (process.argv[2] ? [process.argv[2]] : ['sqlite', 'pg'])) {
  let store: any, write: any
  if (kind === 'sqlite') {
    const path = '/tmp/cl-scratch/stop.db'
    for (const s of ['', '-wal', '-shm']) try { (await import('node:fs')).rmSync(path + s) } catch {}
    store = openSqliteStore({ path, ownThread: true })
    write = (s: string) => { const db = new Database(path, { timeout: 10000 }); db.exec(s); db.close() }
  } else {
    const db = await postgres18.createEmptyDatabase()
    store = await openPostgresStore({ url: db.url })
    write = (s: string) => execute(db.url, s)
  }
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const { sandbox } = await ledger.tenant()
  const m = await ledger.mandate(sandbox)
  await ledger.hold(m)
  for (const s of copiesOf({ agentId: m.agentId, mandateId: m.id })) await write(s)
  const ids = createIds(() => Date.now())
  for (const [name, act] of [['stop', 'stopMandates'], ['resume', 'resumeMandates'], ['stop again', 'stopMandates'], ['stop nothing', 'stopMandates']] as const) {
    let afterId: string | undefined = '', moved = 0; const times: number[] = []
    const t = performance.now()
    while (afterId !== undefined) {
      const s = performance.now()
      const step: any = await store[act](sandbox, { stopId: 'stop_1', actor: 'x', atMs: Date.now(), afterId, eventIds: Array.from({ length: 100 }, () => ids.next('auditEvent')) })
      times.push(performance.now() - s)
      moved += step.moved
      afterId = step.moved < 100 ? undefined : step.lastId
    }
    times.sort((a, b) => a - b)
    console.log(kind, name, moved, 'ms', (performance.now() - t).toFixed(0), 'steps', times.length, 'p50', times[times.length >> 1]!.toFixed(1), 'max', times.at(-1)!.toFixed(1))
  }
  await store.close()
}
process.exit()
