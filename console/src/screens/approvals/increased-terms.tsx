import type { ApprovalRequest, MandateVersion } from '@purser/client'
import type { ReactNode } from 'react'

import { Amount } from '../../ui/amount.tsx'
import { Moment } from '../../ui/when.tsx'

type Terms = Pick<MandateVersion, 'max_spend_total' | 'max_spend_per_transaction' | 'expires_at'>

const terms: readonly {
  readonly name: keyof Terms
  readonly words: string
  readonly show: (value: string) => ReactNode
}[] = [
  { name: 'max_spend_total', words: 'Total', show: (value) => <Amount value={value} currency="USDC" /> },
  {
    name: 'max_spend_per_transaction',
    words: 'Cap per payment',
    show: (value) => <Amount value={value} currency="USDC" />,
  },
  { name: 'expires_at', words: 'Expires', show: (value) => <Moment at={value} /> },
]

/** The terms that an agent asks for, next to those that it had when it asked. */
export function IncreasedTerms({
  change,
  before,
}: {
  readonly change: ApprovalRequest['change']
  readonly before: Terms | undefined
}) {
  return (
    <table className="before-after">
      <caption className="only-read-aloud">Terms before and after</caption>
      <thead>
        <tr>
          <td />
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {terms.map(({ name, words, show }) => {
          const after = change?.[name]
          return (
            after !== undefined && (
              <tr key={name}>
                <th scope="row">{words}</th>
                <td>{before ? show(before[name]) : '–'}</td>
                <td>
                  <strong>{show(after)}</strong>
                </td>
              </tr>
            )
          )
        })}
      </tbody>
    </table>
  )
}
