import { Purser } from '@purser/client'

// A key of the role `merchant`: it can collect payments, and do nothing else. `next build` loads this file too,
// where there is no key; without one, nothing is sold.
const client = new Purser({
  apiKey: process.env.PURSER_MERCHANT_KEY ?? null,
  baseUrl: process.env.PURSER_URL,
})

/** What all paid routes have in common: the name under which mandates allow them, and where they are reached. */
export const merchant = {
  client,
  merchantDomain: 'localhost',
  publicUrl: process.env.PUBLIC_URL ?? 'http://localhost:3000',
}
