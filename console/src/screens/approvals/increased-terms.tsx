import type { ApprovalRequest, MandateVersion } from '@purser/client'
import type { ReactNode } from 'react'

import { actionsInShort, limitInWords } from '../../text/limits.ts'
import { Amount } from '../../ui/amount.tsx'
import { Moment } from '../../ui/when.tsx'

type Terms = Pick<MandateVersion, 'max_spend_total' | 'max_spend_per_transaction' | 'expires_at' | 'limits'>

const terms: readonly {
  readonly name: keyof Terms
  readonly words: string
  /** Undefined if the terms do not have it. */
  readonly show: (terms: Partial<Terms>) => ReactNode
}[] = [
  { name: 'max_spend_total', words: 'Total', show: (of) => amount(of.max_spend_total) },
  {
    name: 'max_spend_per_transaction',
    words: 'Cap per payment',
    show: (of) => amount(of.max_spend_per_transaction),
  },
  { name: 'expires_at', words: 'Expires', show: (of) => of.expires_at && <Moment at={of.expires_at} /> },
  { name: 'limits', words: 'Limits over time', show: (of) => of.limits && <LimitList limits={of.limits} /> },
]

function amount(value: string | undefined): ReactNode {
  return value !== undefined && <Amount value={value} currency="USDC" />
}

function LimitList({ limits }: Pick<Terms, 'limits'>) {
  if (limits.length === 0) return 'None'
  return (
    <ul>
      {limits.map((limit) => (
        <li key={limit.id}>
          {limitInWords(limit)}
          {actionsInShort[limit.action]}
        </li>
      ))}
    </ul>
  )
}

/**
 * The terms that an agent asks for, next to those before: on the page of a request, those at that time; in the inbox, the
 * current ones.
 */
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
          return (
            change?.[name] !== undefined && (
              <tr key={name}>
                <th scope="row">{words}</th>
                <td>{before ? show(before) : '–'}</td>
                <td>
                  <strong>{show(change)}</strong>
                </td>
              </tr>
            )
          )
        })}
      </tbody>
    </table>
  )
}
