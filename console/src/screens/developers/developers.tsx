import { useState } from 'react'

import { useNow } from '../../api/connection.tsx'
import { useRead } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Screen } from '../screen.tsx'
import { curlOf, requestsFor } from './requests.ts'

/** API requests to paste, with this service's URL and this account's ids. */
export function Developers() {
  const { environment } = useSeen()
  const now = useNow()
  const [chosen, setChosen] = useState('create-agent')
  const newest = useRead('newest-mandate', async (purser, signal) => {
    const { items } = await purser.console.mandates.list({ status: 'active', limit: 1 }, { signal }).page()
    return items[0] ?? null
  })
  const requests = requestsFor({ environment, mandate: newest.data ?? undefined, nowMs: now() })
  const request = requests.find(({ id }) => id === chosen) ?? requests[0]
  const keyName = environment === 'sandbox' ? 'PURSER_SANDBOX_KEY' : 'PURSER_PRODUCTION_KEY'
  return (
    <Screen
      title="Developers"
      lead="Everything in this console is also available as an API request."
      actions={
        <>
          <a className="button" href="/openapi.json">
            <Icon name="download" /> OpenAPI
          </a>
          <a className="button main" href="/docs">
            <Icon name="outside" /> Reference
          </a>
        </>
      }
    >
      <div className="columns">
        <Panel title="As curl">
          <div className="stack">
            <SelectField
              label="Request"
              value={chosen}
              onChange={setChosen}
              options={requests.map(({ id, title }) => ({ value: id, text: title }))}
            />
            {request && (
              <>
                <p className="quiet">{request.about}</p>
                <CodeBlock label="Request" text={curlOf(request, { serviceUrl: location.origin, keyName })} />
              </>
            )}
          </div>
        </Panel>
        <Panel title="Connection details">
          <dl className="stack">
            <div>
              <dt className="quiet small">Base address</dt>
              <dd>
                <code className="breakable">{location.origin}</code>
              </dd>
            </div>
            <div>
              <dt className="quiet small">Authentication</dt>
              <dd>
                <code>Authorization: Bearer {environment === 'sandbox' ? 'svc_sand_…' : 'svc_prod_…'}</code>
              </dd>
            </div>
            <div>
              <dt className="quiet small">Which key to use</dt>
              <dd>
                Agents hold <em>agent</em> keys, merchants <em>merchant</em> keys. An <em>owner</em> key stays
                with you.
              </dd>
            </div>
            <div>
              <dt className="quiet small">If a response is lost</dt>
              <dd>
                Send the same verify with the same <code>Idempotency-Key</code>: it is charged once, and both
                requests get the same answer.
              </dd>
            </div>
          </dl>
        </Panel>
      </div>
    </Screen>
  )
}
