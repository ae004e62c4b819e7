import { isDeepStrictEqual, styleText } from 'node:util'

import type { Mandate } from './owner.ts'

/** A check of the demo failed; the message says which. */
export class BrokenExpectation extends Error {
  override readonly name = 'BrokenExpectation'
}

interface Output {
  readonly isTTY?: boolean
  readonly write: (text: string) => unknown
}

/** Prints the demo for a person, and ends it at the first failed check. */
export function createNarrator(output: Output, environment: NodeJS.ProcessEnv) {
  const hasColours = output.isTTY === true && !environment['NO_COLOR']
  const names = new Map<string, string>()
  let chapters = 0
  let title = 'the introduction'
  let isPausing = false

  function style(format: Parameters<typeof styleText>[0], text: string): string {
    return hasColours ? styleText(format, text, { validateStream: false }) : text
  }

  function print(text: string): void {
    isPausing = false
    output.write(`${text}\n`)
  }

  function exchange(parties: [from: string, arrow: string, to: string], what: string): void {
    const [from, arrow, to] = parties
    // Text after a check starts a new paragraph.
    const pause = isPausing ? '\n' : ''
    print(`${pause}     ${style('dim', `${from.padEnd(10)} ${arrow} ${to.padEnd(10)}`)}  ${what}`)
  }

  return {
    print,
    style,

    chapter(name: string, ...explanation: string[]): void {
      chapters++
      title = `chapter ${chapters}, "${name}"`
      print(`\n${style('bold', `${String(chapters).padStart(2)}. ${name}`)}\n`)
      for (const line of explanation) print(`    ${line}`)
      if (explanation.length > 0) print('')
    },

    /** Describes where the demo failed, and why. */
    failure(error: unknown): string {
      const message = error instanceof Error ? error.message : String(error)
      const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : ''
      return `The demo failed in ${title}: ${message}${cause}`
    },

    expect(sentence: string, found: unknown, expected: unknown): void {
      if (isDeepStrictEqual(found, expected)) {
        print(`  ${style('green', '✓')}  ${sentence}`)
        isPausing = true
        return
      }
      const difference = `expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`
      print(`  ${style('red', '✗')}  ${sentence}\n     ${difference}`)
      throw new BrokenExpectation(`"${sentence}" failed: ${difference}.`)
    },

    /** Draws what is spent, held and left of a mandate's budget. */
    budget(mandate: Mandate): void {
      const { max_spend_total: total, spent_total: spent, held_total: held } = mandate
      const left = leftOf(mandate)
      const bar = drawBar(toCents(total), toCents(spent), toCents(held))
      print(
        `\n     Budget ${total}  ${bar}  █ ${spent} spent  ▒ ${held} held  ░ ${style('bold', `${left} left`)}`,
      )
      isPausing = true
    },

    /** Replaces a URL's origin by the name in the demo. */
    introduce(address: string, name: string): void {
      names.set(new URL(address).origin, name)
    },

    /** A fetch that prints each request and its response. */
    watch(person: string): typeof fetch {
      return async (input, init) => {
        const request = new Request(input, init)
        const url = new URL(request.url)
        const other = names.get(url.origin) ?? url.host
        const asked = [...headersInShort(request.headers), ...inShort(await request.clone().text())]
        const start = style('cyan', `${request.method} ${pathInShort(url)}`)
        exchange([person, '→', other], [start, asked.join(', ')].join('  ').trimEnd())
        try {
          const response = await fetch(request)
          const text = await response.clone().text()
          const status = style(response.ok ? 'green' : 'yellow', String(response.status))
          const news = inShort(text).filter((phrase) => !asked.includes(phrase))
          exchange([person, '←', other], [status, news.join(', ')].join('  ').trimEnd())
          const detail = parse(text)['reason_detail'] // The message for people.
          if (typeof detail === 'string') print(`${' '.repeat(35)}${style('dim', `"${detail}"`)}`)
          return response
        } catch (error) {
          exchange([person, '←', other], style('yellow', 'no answer'))
          throw error
        }
      }
    },
  }
}

type Body = Readonly<Record<string, unknown>>

const asItIs = (text: string): string => text
const inQuotes = (text: string): string => `"${text}"`

/** The fields to print, and how; other fields are omitted. */
const phrases: Readonly<Record<string, (text: string, body: Body) => string>> = {
  error: asItIs,
  decision: asItIs,
  authorized: (text) => (text === 'true' ? 'authorized' : 'not authorized'),
  verified: (text, body) => ('authorized' in body ? '' : text === 'true' ? 'verified' : 'not verified'),
  reason: asItIs,
  reason_code: asItIs,
  detail: asItIs,
  name: inQuotes,
  role: (text) => `role ${text}`,
  key: (text) => `key ${text.slice(0, 9)}…`,
  api_keys: (text) => {
    const keys = JSON.parse(text) as { key: string }[]
    return `keys ${keys.map(({ key }) => `${key.slice(0, 9)}…`).join(' and ')}`
  },
  max_spend_total: (text) => `${text} USDC in total`,
  max_spend_per_transaction: (text) => `${text} per payment`,
  allowed_sellers: (text) => `only at ${(JSON.parse(text) as string[]).join(', ')}`,
  status: asItIs,
  proof: (text) => {
    const { nonce, amount } = JSON.parse(text) as { nonce: string; amount: string }
    return `proof ${idInShort(nonce)} of ${amount}`
  },
  amount: (text, { error, merchant_domain: recipient }) => {
    if (error) return ''
    return typeof recipient === 'string' ? `${text} USDC to ${recipient}` : `${text} USDC`
  },
  expected_amount: (text) => `price ${text}`,
  transaction_id: (text) => `transaction ${idInShort(text)}`,
  text: inQuotes,
}

function inShort(json: string): string[] {
  const body = parse(json)
  const told = Object.entries(phrases).map(([field, phrase]) => {
    const value = body[field] ?? ''
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return text === '' ? '' : phrase(text, body)
  })
  return told.filter((phrase) => phrase !== '')
}

function parse(text: string): Body {
  try {
    return JSON.parse(text) as Body
  } catch {
    return {}
  }
}

function headersInShort(headers: Headers): string[] {
  const proof = headers.get('x-payment-proof')
  return proof === null ? [] : [`X-Payment-Proof: ${proof.slice(0, 12)}…`]
}

/** Ids of one minute start alike, so their ends tell them apart. */
function idInShort(id: string): string {
  return `…${id.slice(-6)}`
}

function pathInShort({ pathname, search }: URL): string {
  const parts = pathname.split('/').map((part) => (part.length > 24 ? idInShort(part) : part))
  return parts.join('/') + search
}

/** What is neither spent nor held of a mandate. */
export function leftOf({ max_spend_total: total, spent_total: spent, held_total: held }: Mandate): string {
  return fromCents(toCents(total) - toCents(spent) - toCents(held))
}

/** An amount with two decimals in cents: money is never a float. */
export function toCents(amount: string): bigint {
  return BigInt(amount.replace('.', ''))
}

export function fromCents(cents: bigint): string {
  const digits = String(cents).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

const barWidth = 20n

function drawBar(total: bigint, spent: bigint, held: bigint): string {
  const upTo = (cents: bigint) => Number((cents * barWidth + total - 1n) / total)
  const full = upTo(spent)
  const used = upTo(spent + held)
  return '█'.repeat(full) + '▒'.repeat(used - full) + '░'.repeat(Number(barWidth) - used)
}
