import { useState } from 'react'

import { isDown, useConnection } from '../api/connection.tsx'
import { useSeen } from '../api/seen.tsx'
import { useResumeStopped } from '../api/stop.ts'
import { counted } from '../text/counts.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogForm } from '../ui/dialog.tsx'
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
  return stoppedMandates > 0 && <Stopped stoppedMandates={stoppedMandates} />
}

/** A separate component, so that an open dialog ends with its stop. */
function Stopped({ stoppedMandates }: { readonly stoppedMandates: number }) {
  const { session } = useSeen()
  const { stopNumber } = useConnection()
  // The stop that the open dialog asks about: one that begins later is not resumed.
  const [asked, setAsked] = useState<number>()
  const close = () => setAsked(undefined)
  const resume = useResumeStopped()
  const isOne = stoppedMandates === 1
  return (
    <section className="banner bad" aria-label="Stopped agents">
      <Icon name="stop" size={18} />
      <p role="status">
        <strong>Agents are stopped.</strong>{' '}
        {`${counted(stoppedMandates, 'mandate')} ${isOne ? 'is' : 'are'} paused. Agents cannot pay under ${isOne ? 'it until it is' : 'them until they are'} resumed.`}
      </p>
      {session.role !== 'approver' && (
        <Button icon="play" onClick={() => setAsked(stopNumber)} disabled={resume.isPending}>
          Resume stopped mandates
        </Button>
      )}
      <Dialog title="Resume stopped mandates?" isOpen={asked !== undefined} onClose={close}>
        <DialogForm
          action="Resume now"
          isWorking={resume.isPending}
          onClose={close}
          onSubmit={() => {
            close()
            if (asked !== undefined) resume.mutate({ stopNumber: asked })
          }}
        >
          <p>
            {`The ${counted(stoppedMandates, 'mandate')} that ${isOne ? 'was' : 'were'} stopped can pay again at once. Mandates that somebody has paused otherwise stay paused.`}
          </p>
        </DialogForm>
      </Dialog>
    </section>
  )
}
