import { badUrl, missing, notAmount, notObject, notText, notUsdc, notWeb, without } from './errors.ts'
import { absent, vectorsOf, type Errors, type Row } from './vector.ts'

const proposal = {
  agent_id: 'agent_1',
  mandate_id: 'mandate_1',
  merchant_domain: 'api.example.com',
  amount: '1.00',
  currency: 'USDC',
  resource_url: 'https://api.example.com/data',
  category: 'data',
}

const allMissing: Errors = {
  agent_id: missing,
  mandate_id: missing,
  merchant_domain: missing,
  amount: missing,
  resource_url: missing,
}

const evaluateRows: Row[] = [
  ['v013', 'a whole proposal', {}],
  ['v125', 'a proposal without its optional fields', { category: absent, currency: absent }],
  ['v158', 'category is null', { category: null }],

  ['v015', 'an empty object', { '': {} }, allMissing],
  ['v016', 'a list for a body', { '': [] }, { '': notObject }],
  ['v112', 'no agent_id', ...without('agent_id')],
  ['v113', 'no mandate_id', ...without('mandate_id')],
  ['v115', 'no amount', ...without('amount')],
  [
    'v248',
    'resource_url has no scheme',
    { resource_url: 'example.com' },
    { resource_url: badUrl('relative URL without a base') },
  ],
  ['v318', 'amount is a word', { amount: 'ten' }, { amount: notAmount }],
  ['v344', 'another currency', { currency: 'EUR' }, { currency: notUsdc }],
  [
    'v393',
    'errors come in the order of the fields',
    { '': { category: 1, amount: 2, mandate_id: 3 } },
    {
      agent_id: missing,
      mandate_id: notText,
      merchant_domain: missing,
      amount: notText,
      resource_url: missing,
      category: notText,
    },
  ],
]

const verifyAgentRows: Row[] = [
  ['v017', 'a whole proposal', {}],

  ['v019', 'an empty object', { '': {} }, allMissing],
  ['v020', 'a list for a body', { '': [] }, { '': notObject }],
  ['v117', 'no resource_url', ...without('resource_url')],
  ['v161', 'mandate_id is false', { mandate_id: false }, { mandate_id: notText }],
  [
    'v249',
    'resource_url is on an FTP server',
    { resource_url: 'ftp://example.com' },
    { resource_url: notWeb },
  ],
]

export const policyVectors = [
  ...vectorsOf({ method: 'POST', path: '/v1/policy/evaluate', success: 200 }, proposal, evaluateRows),
  ...vectorsOf({ method: 'POST', path: '/v1/verify-agent', success: 200 }, proposal, verifyAgentRows),
]
