import type { SellerSummary } from '@purser/client'
import { useState } from 'react'

import { useReadPages } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { failureWords } from '../../text/reasons.ts'
import { Amount } from '../../ui/amount.tsx'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { useAddressFlag } from '../address-flag.ts'
import { ListScreen } from '../list-screen.tsx'
import { OwnersOnly } from '../owners-only.tsx'
import { MerchantSnippet } from './merchant-snippet.tsx'
import { NewSeller } from './new-seller.tsx'

/** The list of sellers, with revenue and refused proofs. */
export function Sellers() {
  const creating = useAddressFlag('new')
  const [shown, setShown] = useState<SellerSummary>()
  const query = useReadPages('sellers', (purser, cursor, signal) =>
    purser.console.sellers.list(cursor ? { cursor } : {}, { signal }).page(),
  )
  const columns: readonly Column<SellerSummary>[] = [
    {
      title: 'Seller',
      isName: true,
      cell: (seller) => (
        <>
          <Go to={`transactions?status=paid&merchant_domain=${encodeURIComponent(seller.domain)}`} isClamped>
            {seller.name || seller.domain}
          </Go>
          <div className="cell-sub two-lines">
            {seller.domain}
            {seller.status === 'pending' && ' · not verified: cannot collect yet'}
          </div>
        </>
      ),
    },
    { title: 'Payments', figures: true, cell: ({ paid_count }) => paid_count.toLocaleString('en') },
    {
      title: 'Revenue',
      unit: 'USDC',
      figures: true,
      cell: ({ revenue_total }) => <Amount value={revenue_total} />,
    },
    {
      title: 'In 30 days',
      unit: 'USDC',
      figures: true,
      cell: ({ revenue_last_month }) => <Amount value={revenue_last_month} />,
    },
    { title: 'Proofs refused in 30 days', cell: (seller) => <Failures seller={seller} /> },
    {
      title: 'Actions',
      isActions: true,
      cell: (seller) => (
        <Button look="bare" icon="developer" onClick={() => setShown(seller)}>
          Middleware
        </Button>
      ),
    },
  ]
  const register = (
    <OwnersOnly>
      <Button look="main" icon="plus" onClick={creating.set}>
        New seller
      </Button>
    </OwnersOnly>
  )
  return (
    <ListScreen
      title="Sellers"
      lead="Your domains, their revenue less refunds, and refused proofs."
      actions={register}
      noun="seller"
      query={query}
      columns={columns}
      empty={
        <EmptyState icon="seller" title="No sellers yet" action={register}>
          Register a domain to get paid there: the middleware then asks agents for a proof of payment, and
          verifies it here. If you only spend, you need no seller.
        </EmptyState>
      }
    >
      <OwnersOnly>
        <NewSeller isOpen={creating.isSet} onClose={creating.clear} />
      </OwnersOnly>
      <MerchantSnippet seller={shown} onClose={() => setShown(undefined)} />
    </ListScreen>
  )
}

function Failures({ seller }: { readonly seller: SellerSummary }) {
  const seen = seller.failures_last_month.filter(({ count }) => count > 0)
  if (seen.length === 0) return <span className="quiet">None</span>
  return (
    <ul>
      {seen.map(({ reason, count }) => (
        <li key={reason}>
          <span className="figures">{count.toLocaleString('en')}</span> × {failureWords[reason].toLowerCase()}
        </li>
      ))}
    </ul>
  )
}
