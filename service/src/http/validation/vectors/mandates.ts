import {
  badDateTime,
  missing,
  notAmount,
  notDateTime,
  notList,
  notObject,
  notText,
  notUsdc,
  without,
  withoutZone,
} from './errors.ts'
import { absent, vectorsOf, type Row } from './vector.ts'

export const mandate = {
  agent_id: 'agent_1',
  purpose: 'Buy research data',
  max_spend_total: '100.00',
  max_spend_per_transaction: '10.00',
  currency: 'USDC',
  allowed_sellers: ['api.example.com'],
  allowed_categories: ['data'],
  expires_at: '2099-01-01T00:00:00Z',
}

/** A number with this exact spelling, which `JSON.stringify` would change. */
const spelled = (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON

const extraCharacters = badDateTime('unexpected extra characters at the end of the input')
const tooShort = badDateTime('input is too short')
const badSeparator = badDateTime('invalid date separator, expected `-`')

const rows: Row[] = [
  ['v001', 'a whole mandate', {}],
  [
    'v124',
    'a mandate without its optional fields',
    { currency: absent, allowed_sellers: absent, allowed_categories: absent },
  ],

  ['v004', 'a list for a body', { '': [] }, { '': notObject }],
  ['v030', 'a text for a body', { '': 'mandate' }, { '': notObject }],
  ['v033', 'zero for a body', { '': 0 }, { '': notObject }],
  ['v035', 'true for a body', { '': true }, { '': notObject }],
  ['v037', 'a mandate within a list', { '': [mandate] }, { '': notObject }],

  ['v100', 'no agent_id', ...without('agent_id')],
  ['v101', 'no purpose', ...without('purpose')],
  ['v102', 'no max_spend_total', ...without('max_spend_total')],
  ['v103', 'no max_spend_per_transaction', ...without('max_spend_per_transaction')],
  ['v104', 'no expires_at', ...without('expires_at')],

  ['v138', 'agent_id is a fraction', { agent_id: 1.5 }, { agent_id: notText }],
  ['v140', 'agent_id is true', { agent_id: true }, { agent_id: notText }],
  ['v141', 'agent_id is null', { agent_id: null }, { agent_id: notText }],
  ['v142', 'agent_id is a list', { agent_id: [] }, { agent_id: notText }],
  ['v143', 'agent_id is an object', { agent_id: {} }, { agent_id: notText }],
  [
    'v153',
    'a minus before zero is not echoed',
    { agent_id: spelled('-0') },
    { agent_id: { ...notText, echo: 0 } },
  ],
  [
    'v154',
    'a zero at the end is not echoed',
    { agent_id: spelled('1.10') },
    { agent_id: { ...notText, echo: 1.1 } },
  ],

  ['v165', 'allowed_sellers is a text', { allowed_sellers: 'api.example.com' }, { allowed_sellers: notList }],
  ['v166', 'allowed_sellers is null', { allowed_sellers: null }, { allowed_sellers: notList }],
  ['v167', 'allowed_sellers is an object', { allowed_sellers: {} }, { allowed_sellers: notList }],
  ['v169', 'allowed_sellers is an empty text', { allowed_sellers: '' }, { allowed_sellers: notList }],
  [
    'v172',
    'several wrong sellers',
    { allowed_sellers: [1, 'b.com', null, [], {}] },
    {
      'allowed_sellers.0': notText,
      'allowed_sellers.2': notText,
      'allowed_sellers.3': notText,
      'allowed_sellers.4': notText,
    },
  ],

  ['v185', 'expires_at is a word', { expires_at: 'tomorrow' }, { expires_at: tooShort }],
  ['v186', 'expires_at is empty', { expires_at: '' }, { expires_at: tooShort }],
  ['v188', 'expires_at has no zone', { expires_at: '2099-01-01T00:00:00' }, { expires_at: withoutZone }],
  ['v191', 'expires_at at hour 24', { expires_at: '2099-01-01T24:00:00Z' }, { expires_at: extraCharacters }],
  ['v192', 'expires_at with slashes', { expires_at: '2099/01/01T00:00:00Z' }, { expires_at: badSeparator }],
  [
    'v194',
    'text after expires_at',
    { expires_at: '2099-01-01T00:00:00Zjunk' },
    { expires_at: extraCharacters },
  ],
  ['v195', 'a zone of hours only', { expires_at: '2099-01-01T00:00:00+02' }, { expires_at: extraCharacters }],
  [
    'v197',
    'X between date and time',
    { expires_at: '2099-01-01X00:00:00Z' },
    { expires_at: extraCharacters },
  ],
  [
    'v198',
    'the day first',
    { expires_at: '01-01-2099' },
    { expires_at: badDateTime('invalid character in year') },
  ],
  [
    'v199',
    'a letter in the day',
    { expires_at: '2099-01-0aT00:00:00Z' },
    { expires_at: badDateTime('invalid character in day') },
  ],
  ['v200', 'no separators at all', { expires_at: '20990101T000000Z' }, { expires_at: badSeparator }],
  ['v203', 'expires_at is true', { expires_at: true }, { expires_at: notDateTime }],
  ['v206', 'expires_at is an object', { expires_at: {} }, { expires_at: notDateTime }],
  ['v208', 'a zone that is not UTC', { expires_at: '2099-01-01T00:00:00+02:00' }],
  ['v210', 'a time without seconds', { expires_at: '2099-01-01T00:00Z' }],
  ['v212', 'a zone without a colon', { expires_at: '2099-01-01T00:00:00+0200' }],
  ['v215', 'nine digits of a second', { expires_at: '2099-01-01T00:00:00.123456789Z' }],

  [
    'v315',
    'both caps are words',
    { max_spend_total: 'x', max_spend_per_transaction: 'y' },
    { max_spend_total: notAmount, max_spend_per_transaction: notAmount },
  ],
  ['v343', 'another currency', { currency: 'EUR' }, { currency: notUsdc }],
  [
    'v053',
    'another character set is not asked for',
    { '': { a: 'é' } },
    {
      agent_id: missing,
      purpose: missing,
      max_spend_total: missing,
      max_spend_per_transaction: missing,
      expires_at: missing,
    },
  ],
]

export const mandateVectors = vectorsOf(
  { method: 'POST', path: '/mandates', success: 201 },
  mandate,
  rows,
).map((vector) =>
  vector.id === 'v053'
    ? { ...vector, headers: { 'content-type': 'application/json;charset=iso-8859-1' } }
    : vector,
)
