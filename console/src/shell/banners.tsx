import { isDown, useConnection } from '../api/connection.tsx'
import { useResumeStopped } from '../api/stop.ts'
import { counted } from '../text/counts.ts'
import { Button } from '../ui/button.tsx'
import { Icon } from '../ui/icon.tsx'
import { Moment } from '../ui/when.tsx'
import './banners.css'

/** Banners on every screen: the service is down, agents are stopped. */
export function Banners() {
  return (
    <>
      <ConnectionBanner />
      <StoppedBanner />
    </>
  )
}

function ConnectionBanner() {
  const connection = useConnection()
  const { state, answeredAtMs } = connection
  if (!isDown(connection)) return null
  return (
    <section className="banner warn" aria-label="Connection">
      <Icon name="warning" size={18} />
      <p role="alert">
        <strong>
          {state === 'no database'
            ? 'The service cannot reach its database.'
            : 'The service does not answer.'}
        </strong>{' '}
        {answeredAtMs > 0 && (
          <>
            This data may be out of date: the last response was at{' '}
            <Moment at={new Date(answeredAtMs).toISOString()} />.{' '}
          </>
        )}
        This page reconnects by itself.
      </p>
    </section>
  )
}

function StoppedBanner() {
  const { stoppedMandates } = useConnection()
  const resume = useResumeStopped()
  if (stoppedMandates === 0) return null
  const isOne = stoppedMandates === 1
  return (
    <section className="banner bad" aria-label="Stopped agents">
      <Icon name="stop" size={18} />
      <p role="status">
        <strong>Agents are stopped.</strong>{' '}
        {`${counted(stoppedMandates, 'mandate')} ${isOne ? 'is' : 'are'} paused. Agents cannot pay under ${isOne ? 'it until it is' : 'them until they are'} resumed.`}
      </p>
      <Button icon="play" onClick={() => resume.mutate(undefined)} disabled={resume.isPending}>
        Resume stopped mandates
      </Button>
    </section>
  )
}
