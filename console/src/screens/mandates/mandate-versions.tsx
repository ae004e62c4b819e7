import type { Mandate } from '@purser/client'

import { useRead } from '../../api/queries.ts'
import { Identifier } from '../../ui/code.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Failed, Waiting } from '../../ui/waiting.tsx'
import { Moment } from '../../ui/when.tsx'
import { useBudgets } from '../budgets/budget-choices.ts'
import { ChangeList } from './change-list.tsx'
import { changesOf, termsOfMandate } from './term-changes.ts'

/** How many versions are shown: the newest. */
const shown = 20

/** The versions of a mandate's terms, with what each changed; nothing for a mandate that was never amended. */
export function MandateVersions({ mandate: { id, version } }: { readonly mandate: Mandate }) {
  if (version === 1) return null
  return (
    <Panel title="Versions">
      <Versions mandateId={id} version={version} />
    </Panel>
  )
}

function Versions({ mandateId, version }: { readonly mandateId: string; readonly version: number }) {
  const query = useRead(
    'mandate-versions',
    (purser, signal) =>
      purser.mandates.versions(mandateId, { limit: shown + 1 }, { signal }).toArray({ limit: shown + 1 }),
    { parameters: [mandateId, version] },
  )
  const budgets = useBudgets()
  if (query.isPending) return <Waiting />
  if (query.isError) return <Failed error={query.error} onRetry={() => void query.refetch()} />
  const versions = query.data
  return (
    <div className="stack">
      {versions.slice(0, shown).map((one, index) => {
        const earlier = versions[index + 1]
        return (
          <details key={one.version} open={index === 0}>
            <summary>
              Version {one.version}, <Moment at={one.created_at} />
              {index === 0 && ', in force'}
            </summary>
            <div className="stack-tight">
              {one.changed_by !== null && (
                <p className="quiet small">
                  Changed by <Identifier id={one.changed_by} />
                </p>
              )}
              {earlier ? (
                <ChangeList
                  changes={changesOf(termsOfMandate(earlier), termsOfMandate(one))}
                  budgetName={budgets.nameOf}
                />
              ) : (
                <p className="quiet">
                  {one.version === 1 ? 'As it was created.' : 'Earlier ones are not shown.'}
                </p>
              )}
            </div>
          </details>
        )
      })}
    </div>
  )
}
