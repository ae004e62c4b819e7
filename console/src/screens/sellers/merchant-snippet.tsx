import type { SellerSummary } from '@purser/client'

import { CodeBlock } from '../../ui/code.tsx'
import { Dialog } from '../../ui/dialog.tsx'

/** How a seller's own server asks agents for payment, with its own domain filled in. */
export function MerchantSnippet({
  seller,
  onClose,
}: {
  readonly seller: SellerSummary | undefined
  readonly onClose: () => void
}) {
  return (
    <Dialog
      title={`Be paid at ${seller?.domain ?? ''}`}
      isOpen={seller !== undefined}
      onClose={onClose}
      isWide
    >
      {seller && (
        <div className="stack">
          <p>
            With <code>@purser/merchant</code> a route answers 402 until an agent shows a proof of payment,
            and has each proof verified here. Give the server a key of the role <em>merchant</em>.
          </p>
          <CodeBlock label="Middleware" text={middlewareSnippet(seller.domain, location.origin)} />
        </div>
      )}
    </Dialog>
  )
}

function middlewareSnippet(domain: string, serviceUrl: string): string {
  return `import { Purser } from '@purser/client'
import { requirePayment } from '@purser/merchant/express'
import express from 'express'

const client = new Purser({
  apiKey: process.env.PURSER_MERCHANT_KEY,
  baseUrl: ${JSON.stringify(serviceUrl)},
})
const paid = requirePayment({ client, merchantDomain: ${JSON.stringify(domain)}, price: '0.10' })

const app = express()
app.get('/data', paid, (request, response) => response.json({ data: 'paid for' }))
app.listen(3000)
`
}
