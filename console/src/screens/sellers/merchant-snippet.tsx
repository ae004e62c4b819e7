import type { SellerSummary } from '@purser/client'

import { CodeBlock } from '../../ui/code.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import merchantServer from './merchant-server.js?raw'

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
            and has each proof verified here. Give the server a key of the role <em>merchant</em>.
          </p>
          <CodeBlock
            label="Middleware"
            text={merchantServer
              .replace('http://127.0.0.1:8080', location.origin)
              .replace('api.example.com', seller.domain)}
          />
        </div>
      )}
    </Dialog>
  )
}
