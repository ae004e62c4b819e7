import type { Config } from './config.ts'
import type { MintedKeys } from './first-start.ts'

/** What the primary tells a worker. */
export type ToWorker = { readonly kind: 'start'; readonly config: Config } | { readonly kind: 'stop' }

/** What a worker tells the primary: that it answers, or why it cannot, in one sentence. */
export type FromWorker =
  | { readonly kind: 'ready'; readonly url: string; readonly minted: MintedKeys | undefined }
  | { readonly kind: 'failed'; readonly message: string }
