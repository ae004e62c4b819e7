import { badEmail, missing, notDict, notText, without } from './errors.ts'
import { vectorsOf, type Row } from './vector.ts'

const account = { name: 'Ada', email: 'ada@example.com', idp_user_id: 'idp_1' }

const accountRows: Row[] = [
  ['v021', 'a whole account', {}],

  ['v023', 'an empty object', { '': {} }, { name: missing, email: missing, idp_user_id: missing }],
  ['v118', 'no name', ...without('name')],
  ['v119', 'no email', ...without('email')],
  ['v163', 'idp_user_id is a number', { idp_user_id: 42 }, { idp_user_id: notText }],
  ['v294', 'email is a number', { email: 1 }, { email: notText }],
  ['v295', 'email is null', { email: null }, { email: notText }],
  ...badEmails(),
]

function badEmails(): Row[] {
  const noPeriod = 'The part after the @-sign is not valid. It should have a period.'
  const twoPeriods = 'An email address cannot have two periods in a row.'
  const emails = [
    ['v271', 'ada', 'An email address must have an @-sign.'],
    ['v272', 'ada@', 'There must be something after the @-sign.'],
    ['v274', 'ada@example', noPeriod],
    ['v275', 'ada@@example.com', "The part after the @-sign contains invalid characters: '@'."],
    ['v277', 'ada@example..com', twoPeriods],
    ['v279', 'ada@example.com.', 'An email address cannot end with a period.'],
    ['v282', 'ada.@example.com', 'An email address cannot have a period immediately before the @-sign.'],
    ['v283', 'a..b@example.com', twoPeriods],
    ['v285', 'ada@localhost', noPeriod],
    [
      'v286',
      'ada@shop.test',
      'The part after the @-sign is a special-use or reserved name that cannot be used with email.',
    ],
    ['v287', 'ada@[127.0.0.1]', 'A bracketed IP address after the @-sign is not allowed here.'],
    ['v288', '"a b"@example.com', 'Quoting the part before the @-sign is not allowed here.'],
    [
      'v290',
      'a(c)@example.com',
      "The email address contains invalid characters before the @-sign: '(', ')'.",
    ],
  ] as const
  return emails.map(([id, email, reason]) => [
    id,
    `the email ${email}`,
    { email },
    { email: badEmail(reason) },
  ])
}

const seller = { name: 'Shop', domain: 'api.example.com', price_config: { default: '0.10' } }

const sellerRows: Row[] = [
  ['v121', 'no name', ...without('name')],
  ['v123', 'no price_config', ...without('price_config')],
  ['v178', 'price_config is a text', { price_config: 'x' }, { price_config: notDict }],
  ['v180', 'price_config is null', { price_config: null }, { price_config: notDict }],
  ['v182', 'price_config is a number', { price_config: 1 }, { price_config: notDict }],
]

export const accountVectors = [
  ...vectorsOf({ method: 'POST', path: '/accounts', success: 201 }, account, accountRows),
  ...vectorsOf({ method: 'POST', path: '/sellers', success: 201 }, seller, sellerRows),
]
