import { amountInWords } from '../../text/amounts.ts'
import { actionsInShort, limitInWords } from '../../text/limits.ts'
import { approvalInWords } from '../../text/terms.ts'
import { clockMinute } from '../../text/times.ts'
import { Badge } from '../../ui/badge.tsx'
import './change-list.css'
import type { TermName, Terms } from './mandate-draft.ts'
import type { Direction, TermChange } from './term-changes.ts'

const names: Record<TermName, string> = {
  purpose: 'Purpose',
  max_spend_total: 'Total budget',
  max_spend_per_transaction: 'Cap per payment',
  allowed_sellers: 'Allowed sellers',
  allowed_categories: 'Allowed categories',
  allowed_resources: 'Allowed URLs',
  category_check: 'Category check',
  expires_at: 'Expires',
  limits: 'Limits over time',
  budget_id: 'Shared budget',
  approval: 'Approval by a person',
  metadata: 'Metadata',
}

/** Each changed term, before and after, and whether it allows more or less. */
export function ChangeList({
  changes,
  budgetName,
}: {
  readonly changes: readonly TermChange[]
  readonly budgetName: (id: string) => string
}) {
  if (changes.length === 0) return <p className="quiet">The terms stayed the same; open proofs were ended.</p>
  return (
    <ul className="change-list">
      {changes.map(({ name, before, after, direction }) => (
        <li key={name} aria-label={names[name]}>
          <div className="change-name">
            {names[name]} <DirectionBadge direction={direction} />
          </div>
          <dl className="change-pair">
            <div>
              <dt>Before</dt>
              <dd>{termInWords(name, before, budgetName)}</dd>
            </div>
            <div>
              <dt>After</dt>
              <dd>{termInWords(name, after, budgetName)}</dd>
            </div>
          </dl>
        </li>
      ))}
    </ul>
  )
}

function DirectionBadge({ direction }: { readonly direction: Direction }) {
  switch (direction) {
    case 'more':
      return (
        <Badge tone="warn" icon="plus">
          allows more
        </Badge>
      )
    case 'less':
      return (
        <Badge tone="good" icon="skipped">
          allows less
        </Badge>
      )
    case 'both':
      return (
        <Badge tone="warn" icon="plus">
          allows more and less
        </Badge>
      )
    case 'neither':
      return null
    default:
      return direction satisfies never
  }
}

function termInWords(name: TermName, terms: Terms, budgetName: (id: string) => string): string {
  switch (name) {
    case 'purpose':
      return terms.purpose || 'None'
    case 'max_spend_total':
    case 'max_spend_per_transaction':
      return `${amountInWords(terms[name])} USDC`
    case 'allowed_sellers':
      return listed(terms.allowed_sellers, 'None')
    case 'allowed_categories':
      return listed(terms.allowed_categories, 'Every category')
    case 'allowed_resources':
      return listed(terms.allowed_resources, 'Every URL')
    case 'category_check':
      return terms.category_check === 'enforced' ? 'At each payment' : 'Only before paying'
    case 'expires_at':
      return clockMinute(terms.expires_at)
    case 'limits':
      return (
        terms.limits.map((limit) => `${limitInWords(limit)}${actionsInShort[limit.action]}`).join('; ') ||
        'None'
      )
    case 'budget_id':
      return terms.budget_id === null ? 'None' : budgetName(terms.budget_id)
    case 'approval':
      return (terms.approval && approvalInWords(terms.approval)) || 'Never'
    case 'metadata':
      return (
        Object.entries(terms.metadata)
          .map(([key, value]) => `${key}: ${value}`)
          .join(', ') || 'None'
      )
    default:
      return name satisfies never
  }
}

function listed(entries: readonly string[], none: string): string {
  return entries.length === 0 ? none : entries.join(', ')
}
