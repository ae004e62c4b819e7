import { Purser } from '@purser/client'

// A key with the role `merchant`: it can collect payments and nothing else. `next build` also loads this
// file, without a key; without a key, nothing is sold.
const client = new Purser({
  apiKey: process.env.PURSER_MERCHANT_KEY ?? null,
  baseUrl: process.env.PURSER_URL,
})

/** Shared by all paid routes: the domain that mandates allow, and the public URL. */
export const merchant = {
  client,
  merchantDomain: 'localhost',
  publicUrl: process.env.PUBLIC_URL ?? 'http://localhost:3000',
}
