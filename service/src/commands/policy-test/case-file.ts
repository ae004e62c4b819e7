import { NewMandate } from '@purser/wire/mandates'
import { ProofRequest } from '@purser/wire/payments'
import { decisions, denialCodes, ProposedPayment } from '@purser/wire/policy'
import { isMap, isScalar, parseDocument, visit } from 'yaml'

import { readDateTime } from '../../domain/time/date-time.ts'
import { UsageError } from '../io.ts'

/** Fields of the request that creates a mandate, or of a payment; the service validates their values. */
export type Fields = Readonly<Record<string, unknown>>

/** A payment that was made before the one in question. */
export interface EarlierPayment {
  readonly payment: Fields
  readonly atMs: number
  /** Whether it was charged; otherwise its proof is still open. */
  readonly isPaid: boolean
}

/** A payment under a mandate, and the expected decision. */
export interface PolicyCase {
  readonly name: string
  readonly mandate: Fields
  /** In chronological order. */
  readonly before: readonly EarlierPayment[]
  readonly payment: Fields
  readonly atMs: number
  /** `approved`, `denied`, or a denial code. */
  readonly expected: string
}

/** Cases are few: a file with more is generated, and can be split. */
const maxCases = 1_000
const maxBytes = 1024 * 1024

/**
 * The cases of a YAML file. A case inherits the fields of `mandate`, `payment` and `at` of the file.
 *
 * @throws UsageError that names the first field that is wrong
 */
export function readCases(text: string, file: string): PolicyCase[] {
  const fail = (place: string, why: string): never => {
    throw new UsageError(`${file}: ${place === '' ? '' : `${place}: `}${why}`)
  }
  if (Buffer.byteLength(text) > maxBytes) fail('', 'the file is over 1 MB; split it')
  const document = parseDocument(text)
  const [error] = document.errors
  if (error) fail('', error.message.split('\n')[0] ?? 'the file is not YAML')
  // Amounts are text: 10.0 is not 10.00.
  visit(document, {
    Pair(_, { key, value }) {
      if (isScalar(key) && isText(String(key.value))) toText(value)
      if (isScalar(key) && key.value === 'metadata' && isMap(value)) {
        for (const { value: own } of value.items) toText(own)
      }
    },
  })
  const reader = new CaseReader(fail)
  return reader.cases(document.toJS())
}

/** Takes a scalar as it is written; null stays null. */
function toText(node: unknown): void {
  if (isScalar(node) && node.value !== null) node.value = node.source ?? node.value
}

const ofMandate = Object.keys(NewMandate.properties).filter((name) => name !== 'agent_id')
const ofPayment = [
  ...new Set([...Object.keys(ProposedPayment.properties), ...Object.keys(ProofRequest.properties)]),
].filter((name) => name !== 'agent_id' && name !== 'mandate_id')

/** Fields whose scalars are text, however they are written: amounts, times and names. */
function isText(name: string): boolean {
  return ['name', 'at', 'max_amount', 'above'].includes(name) || textFields.has(name)
}

const textFields = new Set(
  [NewMandate, ProposedPayment, ProofRequest].flatMap(({ properties }) =>
    Object.entries(properties).flatMap(([name, schema]) => (takesText(schema as FieldSchema) ? [name] : [])),
  ),
)

interface FieldSchema {
  readonly type?: unknown
  /** Of a field that may be null. */
  readonly anyOf?: readonly FieldSchema[]
}

function takesText({ type, anyOf = [] }: FieldSchema): boolean {
  return type === 'string' || anyOf.some(takesText)
}

class CaseReader {
  readonly #fail: (place: string, why: string) => never

  constructor(fail: (place: string, why: string) => never) {
    this.#fail = fail
  }

  cases(file: unknown): PolicyCase[] {
    const { at, mandate, payment, cases } = this.#fields(file, '', ['at', 'mandate', 'payment', 'cases'])
    const shared = {
      at: at ?? this.#fail('at', 'is missing: the time of the payments, such as 2026-11-20T12:00:00Z'),
      mandate: this.#fields(mandate ?? {}, 'mandate', ofMandate),
      payment: this.#fields(payment ?? {}, 'payment', ofPayment),
    }
    if (!Array.isArray(cases) || cases.length === 0) return this.#fail('cases', 'must be a list of cases')
    if (cases.length > maxCases) this.#fail('cases', `there are more than ${maxCases}; split the file`)
    return cases.map((one: unknown, index) => this.#case(one, `cases[${index}]`, shared))
  }

  #case(
    given: unknown,
    place: string,
    shared: { readonly at: unknown; readonly mandate: Fields; readonly payment: Fields },
  ): PolicyCase {
    const fields = this.#fields(given, place, ['name', 'at', 'mandate', 'before', 'payment', 'expect'])
    const { name, expect, at = shared.at } = fields
    if (typeof name !== 'string' || name === '') return this.#fail(place, '`name` is missing')
    const named = `${place} (${name})`
    const expected = typeof expect === 'string' && expectations.includes(expect) ? expect : undefined
    if (expected === undefined) this.#fail(named, `\`expect\` must be one of ${expectations.join(', ')}`)
    const atMs = this.#time(at, named)
    const payment = { ...shared.payment, ...this.#fields(fields['payment'] ?? {}, named, ofPayment) }
    const before = this.#earlier(fields['before'] ?? [], named, { ...shared, atMs })
    const late = before.find((one, index) => one.atMs > (before[index + 1]?.atMs ?? atMs))
    if (late) this.#fail(named, '`before` must be in order of time, and not after the payment')
    return {
      name,
      mandate: { ...shared.mandate, ...this.#fields(fields['mandate'] ?? {}, named, ofMandate) },
      before,
      payment,
      atMs,
      expected: expected ?? '',
    }
  }

  #earlier(
    given: unknown,
    place: string,
    shared: { readonly payment: Fields; readonly atMs: number },
  ): EarlierPayment[] {
    if (!Array.isArray(given)) return this.#fail(place, '`before` must be a list of payments')
    return given.flatMap((one: unknown, index) => {
      const own = `${place}: before[${index}]`
      const fields = this.#fields(one, own, [...ofPayment, 'at', 'times', 'state'])
      const { at, times = 1, state = 'paid', ...payment } = fields
      if (!Number.isInteger(times) || Number(times) < 1 || Number(times) > maxCases)
        this.#fail(own, `\`times\` must be a whole number from 1 to ${maxCases}`)
      if (state !== 'paid' && state !== 'held') this.#fail(own, '`state` must be paid or held')
      const earlier = {
        payment: { ...shared.payment, ...payment },
        atMs: at === undefined ? shared.atMs : this.#time(at, own),
        isPaid: state === 'paid',
      }
      return Array.from({ length: Number(times) }, () => earlier)
    })
  }

  #time(text: unknown, place: string): number {
    const atMs = typeof text === 'string' && /[Zz+]|-\d\d:\d\d$/.test(text) ? readDateTime(text) : Number.NaN
    return Number.isFinite(atMs)
      ? atMs
      : this.#fail(place, '`at` must be a time with a time zone, such as 2026-11-20T12:00:00Z')
  }

  #fields(given: unknown, place: string, known: readonly string[]): Fields {
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      return this.#fail(place, 'must be a map of fields')
    const unknown = Object.keys(given).find((name) => !known.includes(name))
    if (unknown !== undefined)
      this.#fail(place, `there is no field \`${unknown}\`; it takes ${known.join(', ')}`)
    return given as Fields
  }
}

const expectations: readonly string[] = [...decisions, ...denialCodes]
