import { compareAmounts } from '@purser/client'
import { z } from 'zod'

import { maxAnswerBytes } from '../web/content.ts'

/** At most twelve digits, and at most six after the point (decision 0006). */
const amountPattern = /^[0-9]{1,12}(\.[0-9]{1,6})?$/

export const Amount = z
  .string('must be text, such as "1.00"')
  .regex(amountPattern, 'must be an amount such as 4.00: digits, and up to six after a point')
  .refine((text) => !amountPattern.test(text) || compareAmounts(text, '0') > 0, 'must be above zero')
  .describe('Amount in USDC as text, for example "4.00".')

export const PurchaseId = z
  .string()
  .min(1)
  .max(128)
  .describe(
    'Your own name for this purchase, for example "weather-report-2026-11-21". Reuse it when you retry or are ' +
      'unsure whether a call went through: a purchase_id is charged once at most. A new one is a new purchase, and ' +
      'is paid for again.',
  )

export const MandateId = z
  .string()
  .max(128)
  .optional()
  .describe('Which mandate to pay from. Only needed when get_budget lists more than one that is usable.')

export const Category = z
  .string()
  .max(128)
  .optional()
  .describe("Category of the goods; the merchant's own when left out.")

/** An http or https address, as long as the interface takes. */
export const Address = z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).max(2083)

/** So that a result, which holds the answer as text and as data, stays below the 10,000 tokens of cautious clients. */
const defaultMaxBytes = 16_384

export const MaxBytes = z
  .int()
  .min(1_024)
  .max(maxAnswerBytes)
  .default(defaultMaxBytes)
  .describe(
    'How much of the answer to return, in bytes. The rest can be read with offset, without paying again.',
  )

export const Offset = z
  .int()
  .min(0)
  .max(maxAnswerBytes)
  .default(0)
  .describe('Where in the answer to start, in bytes: next_offset of the call before.')
