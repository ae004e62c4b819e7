import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

/** Whether the proof in the header pays the price of this URL. False if in doubt. */
export async function collect(header, { address, price, domain, purser, key }) {
  let proof
  try {
    proof = JSON.parse(Buffer.from(header, 'base64url').toString())
  } catch {
    return { paid: false, reason: 'no proof in X-Payment-Proof' }
  }
  // A proof pays only for the resource that it names.
  if (proof?.resource !== address) return { paid: false, reason: 'proof for something else' }
  const idempotencyKey = randomUUID() // one per customer request, reused for our own retries
  for (let attempt = 1; attempt <= 3; attempt++) {
    try {
      const answer = await fetch(`${purser}/v1/payments/verify`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': idempotencyKey,
        },
        body: JSON.stringify({ proof, merchant_domain: domain, expected_amount: price }),
        // Longer than the ten seconds that the service waits for its database.
        signal: AbortSignal.timeout(15_000),
      })
      const body = await answer.json()
      if (answer.status === 200 && body.verified === true)
        return { paid: true, transactionId: body.transaction_id }
      if (answer.status < 500) return { paid: false, reason: body.reason ?? body.detail }
      if (attempt < 3) await sleep(1000 * Number(answer.headers.get('retry-after') ?? 1))
    } catch {
      // Without an answer, the charge may have happened: send the same request again.
    }
  }
  return { paid: false, reason: 'payment could not be verified' }
}
