import type { MicroUsdc } from './money.ts'
import { noOptionalFacts, noOptionalTerms, type Hold, type Mandate } from './records.ts'

/** The defaults of a new mandate. */
export const mandateDefaults = {
  status: 'active',
  version: 1,
  spentMicro: 0n as MicroUsdc,
  heldMicro: 0n as MicroUsdc,
  authorizedMicro: 0n as MicroUsdc,
  maxCaptureSeconds: 600,
  ...noOptionalTerms,
} as const satisfies Partial<Mandate>

/** The defaults of a new hold. */
export const holdDefaults = {
  status: 'open',
  transactionId: null,
  captureDeadlineMs: null,
  orderId: null,
  ...noOptionalFacts,
} as const satisfies Partial<Hold>
