import type { PurchaseResult } from '../purchases/purchase-result.ts'

/** A purchase in words. */
export function tellPurchase(result: PurchaseResult): string {
  const { payment, response, reason_code, reason_detail, remedy } = result
  const lines = [headline(result)]
  if (reason_detail !== null) lines.push(`${reason_detail} (${reason_code})`)
  if (remedy !== null) lines.push(`What to do: ${remedy}`)
  if (payment && result.outcome !== 'paid') {
    lines.push(`It was about ${payment.amount} ${payment.currency} to ${payment.merchant_domain}.`)
  }
  if (response) {
    const cut = response.truncated ? `, cut off after ${response.bytes} bytes` : ''
    const type = response.content_type ?? 'no content type'
    lines.push(`The merchant answered ${response.status} (${type}, ${response.encoding}${cut}):`)
    if (response.location !== null) lines.push(`Redirect to ${response.location}, not followed.`)
    lines.push('', response.body)
  }
  return lines.join('\n')
}

function headline({ outcome, replayed, payment, purchase_id: id }: PurchaseResult): string {
  const before = replayed ? ' by an earlier call; nothing was bought again' : ''
  switch (outcome) {
    case 'paid': {
      const sum = payment ? `${payment.amount} ${payment.currency} to ${payment.merchant_domain}` : ''
      return `Paid ${sum} for purchase ${id}${before}. Transaction ${payment?.transaction_id}.`
    }
    case 'free':
      return `Nothing had to be paid for purchase ${id}${before}.`
    case 'denied':
      return `Denied; nothing was charged for purchase ${id} by this call.`
    case 'not_paid':
      return `Not paid; nothing has been charged for purchase ${id}.`
    case 'uncertain':
      return `It is not known yet whether purchase ${id} was charged.`
    default:
      return outcome satisfies never
  }
}
