import type { SellerSummary } from '@purser/client'
import { useState } from 'react'
import { useSearchParams } from 'react-router'

import { useReadPages } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { failureWords } from '../../text/reasons.ts'
import { Amount } from '../../ui/amount.tsx'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Screen } from '../screen.tsx'
import { MerchantSnippet } from './merchant-snippet.tsx'
import { NewSeller } from './new-seller.tsx'

/** What was paid to the sellers of this account, and why some of it was not. */
export function Sellers() {
  const [parameters, setParameters] = useSearchParams()
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
          <Go to={`transactions?merchant_domain=${encodeURIComponent(seller.domain)}`}>
            {seller.name || seller.domain}
          </Go>
          <div className="cell-sub">{seller.domain}</div>
        </>
      ),
    },
    { title: 'Payments', figures: true, cell: ({ paid_count }) => paid_count.toLocaleString('en') },
    {
      title: 'Revenue',
      figures: true,
      cell: ({ revenue_total }) => <Amount value={revenue_total} currency="USDC" />,
    },
    {
      title: 'Last 30 days',
      figures: true,
      cell: ({ revenue_last_month }) => <Amount value={revenue_last_month} currency="USDC" />,
    },
    { title: 'Failed verifications, 30 days', cell: (seller) => <Failures seller={seller} /> },
    {
      title: 'Acts',
      isActions: true,
      cell: (seller) => (
        <Button icon="developer" onClick={() => setShown(seller)}>
          Middleware
        </Button>
      ),
    },
  ]
  const register = (
    <Button look="main" icon="plus" onClick={() => setParameters({ new: '' })}>
      New seller
    </Button>
  )
  return (
    <Screen
      title="Sellers"
      lead="Where you are paid: your domains, their revenue, and what was refused."
      actions={register}
    >
      <Panel title="All sellers" flush isTitleHidden>
        <PagedTable
          label="Sellers"
          query={query}
          columns={columns}
          rowKey={({ id }) => id}
          empty={
            <EmptyState icon="seller" title="No seller yet" action={register}>
              Register a domain to be paid on it: the middleware then asks agents for a proof of payment, and
              has it verified here. To only spend, you need no seller.
            </EmptyState>
          }
        />
      </Panel>
      <NewSeller isOpen={parameters.has('new')} onClose={() => setParameters({}, { replace: true })} />
      <MerchantSnippet seller={shown} onClose={() => setShown(undefined)} />
    </Screen>
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
