import type { System as SystemFigures } from '@purser/client'

import { useRead } from '../../api/queries.ts'
import { bytesInWords, durationInWords } from '../../text/counts.ts'
import { Badge } from '../../ui/badge.tsx'
import { Fact, Facts, Panel } from '../../ui/panel.tsx'
import { Moment } from '../../ui/when.tsx'
import { Screen } from '../screen.tsx'
import { WhenRead } from '../when-read.tsx'

/** Refresh interval of the figures. */
const refetchMs = 5_000

/** Warning thresholds: free disk below this ratio, queue above this ratio. */
const worryShare = { disk: 0.1, queue: 0.5 }

/** The state of the service, for operators. */
export function System() {
  const query = useRead('system', (purser, signal) => purser.console.system({ signal }), { refetchMs })
  return (
    <WhenRead query={query} title="System">
      {(figures) => <SystemScreen figures={figures} />}
    </WhenRead>
  )
}

function SystemScreen({ figures }: { readonly figures: SystemFigures }) {
  const { store, queue, commit, disk, ...process } = figures
  const isQueueFull = queue.waiting > queue.most * worryShare.queue
  return (
    <Screen title="System" lead="The state of the service. The figures are for the process that answered.">
      <div className="columns">
        <Panel title="Service">
          <Facts>
            <Fact name="Version">{process.version}</Fact>
            <Fact name="Interface">{process.interface_version}</Fact>
            <Fact name="Node">{process.node_version}</Fact>
            <Fact name="Processes">{process.workers}</Fact>
            <Fact name="Running for">{durationInWords(process.uptime_seconds)}</Fact>
            <Fact name="Started">
              <Moment at={process.started_at} />
            </Fact>
            <Fact name="Memory">{bytesInWords(process.memory_bytes)}</Fact>
            <Fact name="Open live feeds">{process.open_feeds}</Fact>
          </Facts>
        </Panel>
        <div className="stack">
          <Panel title="Store">
            <Facts>
              <Fact name="Kind">{store.kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'}</Fact>
              <Fact name="Schema">{store.schema_version}</Fact>
              <Fact name="Size of the ledger">{bytesInWords(disk.ledger_bytes)}</Fact>
              <Fact name="Free disk space">
                <FreeRoom {...disk} />
              </Fact>
              <Fact name="Where" isWide>
                <code>{store.place}</code>
              </Fact>
            </Facts>
          </Panel>
          <Panel title="Writing">
            <Facts>
              <Fact name="Operations waiting">
                <span className="figures">
                  {queue.waiting.toLocaleString('en')} of {queue.most.toLocaleString('en')}
                </span>{' '}
                <Badge tone={isQueueFull ? 'bad' : 'good'} icon={isQueueFull ? 'warning' : 'check'}>
                  {isQueueFull ? 'overloaded' : 'keeping up'}
                </Badge>
              </Fact>
              <Fact name="Commits since start">
                <span className="figures">{commit.count.toLocaleString('en')}</span>
              </Fact>
              <Fact name="Commit time, median">{milliseconds(commit.p50_ms)}</Fact>
              <Fact name="Commit time, 99th percentile">{milliseconds(commit.p99_ms)}</Fact>
            </Facts>
          </Panel>
        </div>
      </div>
    </Screen>
  )
}

function FreeRoom({ free_bytes, total_bytes }: SystemFigures['disk']) {
  if (free_bytes === null || total_bytes === null) return 'Visible only to the database server'
  const isFull = free_bytes < total_bytes * worryShare.disk
  return (
    <>
      {bytesInWords(free_bytes)} of {bytesInWords(total_bytes)}{' '}
      <Badge tone={isFull ? 'bad' : 'good'} icon={isFull ? 'warning' : 'check'}>
        {isFull ? 'running out' : 'enough'}
      </Badge>
    </>
  )
}

function milliseconds(ms: number | null): string {
  return ms === null ? 'None yet' : `${ms.toFixed(1)} ms`
}
