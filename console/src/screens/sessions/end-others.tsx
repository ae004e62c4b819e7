import { explainChange } from '../../api/failures.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { counted } from '../../text/counts.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogForm } from '../../ui/dialog.tsx'
import { sayDone } from '../../ui/toast.tsx'
import { useAddressFlag } from '../address-flag.ts'
import { endOtherSessions } from './end-session.ts'

/** Max sessions to count before ending them. */
const maxCounted = 1_000

/** Ends all other sessions, after showing how many. */
export function EndOthers({ hasOthers }: { readonly hasOthers: boolean }) {
  const asked = useAddressFlag('end-others')
  const change = useChange(endOtherSessions, {
    onDone: (count) => {
      asked.clear()
      sayDone(count === 1 ? '1 other session ended' : `${counted(count, 'other session')} ended`)
    },
  })
  function close() {
    change.reset()
    asked.clear()
  }
  return (
    <>
      <Button look="grave" icon="signOut" disabled={!hasOthers} onClick={asked.set}>
        End all others
      </Button>
      <Dialog title="End all other sessions?" isOpen={asked.isSet} onClose={close}>
        <DialogForm
          action="End all others"
          look="danger"
          isWorking={change.isPending}
          failure={change.error ? explainChange(change.error) : undefined}
          onClose={close}
          onSubmit={() => change.mutate(undefined)}
        >
          <div className="stack-tight">
            <OtherSessions />
            <p className="quiet">
              Anyone who signed in with a key can sign in again while it works: revoke it under{' '}
              <Go to="keys">Keys</Go>.
            </p>
          </div>
        </DialogForm>
      </Dialog>
    </>
  )
}

function OtherSessions() {
  const { data } = useRead('other-sessions', async (purser, signal) => {
    const all = await purser.sessions.list({ limit: 200 }, { signal }).toArray({ limit: maxCounted })
    return all.filter(({ is_current }) => !is_current).length
  })
  const count = data === undefined ? 'All other sessions' : counted(data, 'other session')
  return <p>{count} of this account will be signed out at once, in every browser. You stay signed in here.</p>
}
