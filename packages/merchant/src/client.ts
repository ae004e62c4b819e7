/** What is used of `@purser/client`: hand in a `Purser` with a key of the role `merchant` (or `owner`). */
export interface PaymentClient {
  readonly payments: {
    verify(
      body: {
        proof: Proof
        merchant_domain: string
        expected_amount: string
        expected_currency?: string
      },
      options?: CallOptions & { idempotencyKey?: string },
    ): Promise<{ verified: true; transaction_id: string } | { verified: false; reason: string }>
  }
  verifyAgent(
    body: {
      agent_id: string
      mandate_id: string
      merchant_domain: string
      amount: string
      currency?: 'USDC'
      resource_url: string
      category?: string
    },
    options?: CallOptions,
  ): Promise<{ authorized: boolean; reason_code: string }>
}

interface CallOptions {
  signal?: AbortSignal
  timeout?: number
}
