import type { SellerSummary } from '@purser/client'

import { CodeBlock } from '../../ui/code.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import merchantServer from './merchant-server.js?raw'

/** The address that customers request; the server listens on port 3000. */
function publicUrlOf(domain: string): string {
  return domain === 'localhost' ? 'http://localhost:3000' : `https://${domain}`
}

/** Middleware code for a seller's server, with its domain filled in. */
export function MerchantSnippet({
  seller,
  onClose,
}: {
  readonly seller: SellerSummary | undefined
  readonly onClose: () => void
}) {
  return (
    <Dialog
      title={`Get paid at ${seller?.domain ?? ''}`}
      isOpen={seller !== undefined}
      onClose={onClose}
      isWide
    >
      {seller && (
        <div className="stack">
          <p>
            With <code>@purser/merchant</code> a route answers 402 until an agent shows a proof of payment,
            and has each proof verified here. Save this as <code>server.mjs</code>, and give it a key of the
            role <em>merchant</em> in <code>PURSER_MERCHANT_KEY</code>.
          </p>
          <CodeBlock
            label="Middleware"
            text={merchantServer
              .replace('http://127.0.0.1:8080', location.origin)
              .replace('https://api.example.com', publicUrlOf(seller.domain))
              .replace('api.example.com', seller.domain)}
          />
        </div>
      )}
    </Dialog>
  )
}
