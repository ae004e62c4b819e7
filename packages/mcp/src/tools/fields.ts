import { compareAmounts } from '@purser/client'
import { z } from 'zod'

import { maxAnswerBytes } from '../web/content.ts'

/** At most twelve digits, and at most six after the point (decision 6). */
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
      'unsure whether a call went through: a purchase_id is charged at most once. A new one is a new purchase, and ' +
      'is charged again.',
  )

export const MandateId = z
  .string()
  .max(128)
  .optional()
  .describe('The mandate to pay from. Only needed if get_budget lists more than one usable mandate.')

export const Category = z
  .string()
  .max(128)
  .optional()
  .describe("Category of the goods; default: the merchant's.")

/** An http or https URL within the interface's length limit. */
export const Address = z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).max(2083)

/**
 * Keeps a result, which contains the response as text and as data, below the 10,000 tokens that some clients allow.
 */
const defaultMaxBytes = 16_384

export const MaxBytes = z
  .int()
  .min(1_024)
  .max(maxAnswerBytes)
  .default(defaultMaxBytes)
  .describe('How much of the response to return, in bytes. Read the rest with offset, without paying again.')

export const Offset = z
  .int()
  .min(0)
  .max(maxAnswerBytes)
  .default(0)
  .describe('Where in the response to start, in bytes: next_offset of the previous call.')
