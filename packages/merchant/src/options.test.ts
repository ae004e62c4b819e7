import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'

import { Purser } from '@purser/client'
import { createPaymentGate, type PaymentOptions } from '@purser/merchant'
import { requirePayment as forNode } from '@purser/merchant/node'

import { listen } from '../testing/shop.ts'

const client = new Purser({ apiKey: null, baseUrl: 'http://127.0.0.1:1' })
const merchantDomain = 'api.example.com'
const price = '4.00'
const valid = { client, merchantDomain, price }

/** Options as JavaScript may pass them, without type checks. */
function open(options: unknown) {
  return createPaymentGate(options as PaymentOptions)
}

const refused: readonly (readonly [options: unknown, told: RegExp])[] = [
  [undefined, /^The options must be an object.*, not undefined/],
  ['/data', /^The options must be an object.*, not "\/data"/],

  [{ merchantDomain, price }, /^client must be a Purser of @purser\/client.*, not undefined/],
  [{ ...valid, client: 'svc_sand_x' }, /^client must be a Purser of @purser\/client.*, not a key$/],
  [{ ...valid, client: { payments: {} } }, /^client must be a Purser of @purser\/client/],
  [{ ...valid, client: { payments: client.payments }, preflight: true }, /^client must be a Purser/],

  [{ ...valid, capture: 'later' }, /^capture must be "before", "after" or "metered", not "later"/],
  [{ ...valid, capture: true }, /^capture must be .*, not true/],
  [
    { client, merchantDomain, routes: { 'GET /x': { price, capture: 'late' } } },
    /^capture must be .*, not "late" \(in routes\["GET \/x"\]\)/,
  ],
  [
    { ...valid, client: { payments: { verify: () => undefined } }, capture: 'after' },
    /^capture: "after" and "metered" need a client with the methods/,
  ],
  [{ ...valid, shouldCapture: () => true }, /^shouldCapture needs capture: "after" or "metered"/],
  [{ ...valid, capture: 'after', shouldCapture: true }, /^shouldCapture must be a function, not true/],
  [{ ...valid, captureSeconds: 600 }, /^captureSeconds needs capture: "after" or "metered"/],
  ...[59, 86_401, 60.5, '600'].map(
    (captureSeconds) =>
      [
        { ...valid, capture: 'after', captureSeconds },
        /^captureSeconds must be a whole number.*, not/,
      ] as const,
  ),

  [{ client, price }, /^merchantDomain must be a host name such as "api.example.com".*, not undefined/],
  [{ ...valid, merchantDomain: '' }, /^merchantDomain must be .*, not ""/],
  [{ ...valid, merchantDomain: 5 }, /^merchantDomain must be .*, not 5/],
  [{ ...valid, merchantDomain: ['x.com'] }, /^merchantDomain must be .*, not a list/],
  [{ ...valid, merchantDomain: 'x y' }, /^merchantDomain must be .*, not "x y"/],
  [{ ...valid, merchantDomain: ' x.com' }, /^merchantDomain must be .*, not " x.com"/],
  [{ ...valid, merchantDomain: 'x.com\n' }, /^merchantDomain must be .*, not "x.com\\n"/],
  [
    { ...valid, merchantDomain: 'https://x.com' },
    /^merchantDomain must be .*without scheme.*"https:\/\/x.com"/,
  ],
  [{ ...valid, merchantDomain: 'x.com/shop' }, /^merchantDomain must be .*path/],
  [{ ...valid, merchantDomain: 'x.com:8443' }, /^merchantDomain must be .*port/],
  [
    { ...valid, merchantDomain: 'localhost:3000', publicUrl: 'http://localhost:3000' },
    /^merchantDomain must/,
  ],
  [{ ...valid, merchantDomain: 'me@x.com' }, /^merchantDomain must be /],
  [{ ...valid, merchantDomain: '%61.com' }, /^merchantDomain must be /],
  [{ ...valid, merchantDomain: '*' }, /^merchantDomain must be /],
  [{ ...valid, merchantDomain: '*.x.com' }, /^merchantDomain must be /],
  [{ ...valid, merchantDomain: 'x..com' }, /^merchantDomain must be /],
  [{ ...valid, merchantDomain: '-x.com' }, /^merchantDomain must be /],
  [{ ...valid, merchantDomain: '.' }, /^merchantDomain must be /],
  [{ ...valid, merchantDomain: '::1' }, /^merchantDomain must be /],
  [{ ...valid, merchantDomain: '127.1' }, /^merchantDomain must be /],
  [{ ...valid, merchantDomain: `${'x'.repeat(64)}.com` }, /^merchantDomain must be /],
  [{ ...valid, merchantDomain: 'x.'.repeat(127) + 'com' }, /^merchantDomain must be /],

  [
    { ...valid, publicUrl: 'api.example.com' },
    /^publicUrl must be .* such as "https:\/\/.*, not "api.example.com"/,
  ],
  [{ ...valid, publicUrl: '' }, /^publicUrl must be .*, not ""/],
  [{ ...valid, publicUrl: 'https://api.example.com?' }, /^publicUrl must be .*without .*query/],
  [{ ...valid, publicUrl: 'https://api.example.com/#' }, /^publicUrl must be .*without .*fragment/],
  [{ ...valid, publicUrl: 'https://me:word@api.example.com' }, /^publicUrl must be (?!.*:word).*user/],
  [
    { ...valid, publicUrl: 'https://shop.example.com/x' },
    /^The host of publicUrl must be the merchantDomain "api.example.com" or a subdomain of it, not "shop.example.com"/,
  ],
  [{ ...valid, publicUrl: 'https://notapi.example.com' }, /^The host of publicUrl must be/],
  [{ ...valid, publicUrl: 'https://example.com' }, /^The host of publicUrl must be/],
  [
    { ...valid, merchantDomain: 'com', publicUrl: 'https://x.com' },
    /^The host of publicUrl must be the merchantDomain "com" /,
  ],
  [
    { ...valid, merchantDomain: 'localhost', publicUrl: 'http://127.0.0.1:3000' },
    /^The host of publicUrl must be/,
  ],

  [{ client, merchantDomain }, /^Set either price or routes; neither is set/],
  [{ ...valid, price: undefined, routes: null }, /^Set either price or routes; neither is set/],
  [{ ...valid, routes: {} }, /^Set either price or routes; both are set/],
  [{ ...valid, routes: { 'GET /data': { price } } }, /^Set either price or routes; both are set/],
  ...[4, 0, 4n, '', '00,0', '4,00', '$4', '-4', '4.', '.5', '1e3', ' 4', true, {}, [price]].map(
    (wrong) => [{ ...valid, price: wrong }, /^A price must be a string such as "4.00".*, not /] as const,
  ),
  [{ ...valid, category: 'x'.repeat(256) }, /^category must have at most 255 characters, not 256/],
  [{ ...valid, category: 5 }, /^category must be a string such as "data", not 5/],
  [{ ...valid, preflight: 'false' }, /^preflight must be true or false, not "false"/],

  [{ client, merchantDomain, routes: {} }, /^routes must be .*with at least one entry/],
  [{ client, merchantDomain, routes: [] }, /^routes must be an object such as .*, not a list/],
  [{ client, merchantDomain, routes: 'GET /data' }, /^routes must be an object such as/],
  [{ client, merchantDomain, routes: new Map([['GET /data', { price }]]) }, /^routes must be /],
  [{ client, merchantDomain, routes: { 'GET /data': price } }, /^routes\["GET \/data"\] must be an object/],
  [{ client, merchantDomain, routes: { 'GET /data': null } }, /^routes\["GET \/data"\] must be an object/],
  [{ client, merchantDomain, routes: { '/data': {} } }, /^A price must be a string .*routes\["\/data"\]/],
  [
    { client, merchantDomain, routes: { '/a': { price }, '/b': { price: 'free' } } },
    /^A price must be a string .*, not "free" \(in routes\["\/b"\]\)/,
  ],
  [{ client, merchantDomain, routes: { '/a': { price, category: 5 } } }, /^category must .*routes\["\/a"\]/],
  [
    { client, merchantDomain, routes: { '/a': { price, preflight: 1 } } },
    /^preflight must .*routes\["\/a"\]/,
  ],
  [
    { client: { payments: client.payments }, merchantDomain, routes: { '/a': { price, preflight: true } } },
    /^client must be a Purser/,
  ],
  [
    { client, merchantDomain, category: 'data', routes: { '/a': { price } } },
    /^With routes, set category in each route/,
  ],
  [
    { client, merchantDomain, preflight: true, routes: { '/a': { price } } },
    /^With routes, set preflight in each route/,
  ],
  [
    { client, merchantDomain, routes: { data: { price } } },
    /^A route must look like "GET \/path\/:parameter"/,
  ],

  ...['x', '10000', 0, -1, 1.5, NaN, Infinity, 2 ** 31, {}].flatMap(
    (wrong) =>
      [
        [
          { ...valid, timeout: wrong },
          /^timeout must be a whole number of milliseconds, from 1 to 2147483647, not /,
        ],
        [{ ...valid, priceTimeout: wrong }, /^priceTimeout must be a whole number of milliseconds/],
      ] as const,
  ),

  [{ ...valid, deliveries: {} }, /^deliveries must be a store such as/],
  [{ ...valid, deliveries: new Map() }, /^deliveries must be a store such as/],
  [{ ...valid, leaseTimeout: 0 }, /^leaseTimeout must be a whole number/],
  [{ ...valid, onError: 'log' }, /^onError must be a function, not "log"/],
]

describe('Invalid options are refused at startup, with a remedy', () => {
  for (const [options, told] of refused) {
    test(String(told), () => {
      assert.throws(
        () => open(options),
        (error) => error instanceof TypeError && told.test(error.message) && !error.message.includes('\n'),
      )
    })
  }
})

const allowed: readonly [options: Record<string, unknown>, resource: string][] = [
  [{}, 'https://api.example.com/data'],
  [{ merchantDomain: 'API.Example.com' }, 'https://api.example.com/data'],
  [{ merchantDomain: 'api.example.com.' }, 'https://api.example.com/data'],
  [{ merchantDomain: 'bücher.example' }, 'https://xn--bcher-kva.example/data'],
  [
    { merchantDomain: 'xn--bcher-kva.example', publicUrl: 'https://BÜCHER.example' },
    'https://xn--bcher-kva.example/data',
  ],
  [
    { merchantDomain: 'bücher.example', publicUrl: 'https://api.xn--bcher-kva.example' },
    'https://api.xn--bcher-kva.example/data',
  ],
  [{ merchantDomain: '例え。テスト' }, 'https://xn--r8jz45g.xn--zckzah/data'],
  [{ merchantDomain: 'my_shop.example' }, 'https://my_shop.example/data'],
  [{ merchantDomain: 'localhost' }, 'https://localhost/data'],
  [{ merchantDomain: 'localhost', publicUrl: 'http://localhost:3000' }, 'http://localhost:3000/data'],
  [{ merchantDomain: '127.0.0.1', publicUrl: 'http://127.0.0.1:3000' }, 'http://127.0.0.1:3000/data'],
  [{ merchantDomain: '[::1]', publicUrl: 'http://[::1]:3000' }, 'http://[::1]:3000/data'],
  [
    { publicUrl: 'https://api.example.com:8443/behind/a/proxy/' },
    'https://api.example.com:8443/behind/a/proxy/data',
  ],
  [{ publicUrl: 'https://eu.api.example.com.' }, 'https://eu.api.example.com./data'],
  [{ publicUrl: new URL('https://api.example.com/v1') }, 'https://api.example.com/v1/data'],
  // Undefined and null count as absent.
  [
    {
      publicUrl: null,
      timeout: null,
      priceTimeout: null,
      deliveries: null,
      leaseTimeout: null,
      onError: null,
    },
    'https://api.example.com/data',
  ],
  [{ category: null, preflight: null, routes: null }, 'https://api.example.com/data'],
  [
    { price: undefined, category: undefined, routes: { 'GET /data': { price } } },
    'https://api.example.com/data',
  ],
  [{ price: () => price, timeout: 1, priceTimeout: 2 ** 31 - 1 }, 'https://api.example.com/data'],
  [
    {
      category: '',
      preflight: false,
      deliveries: new (class {
        read() {}
        replace() {}
      })(),
    },
    'https://api.example.com/data',
  ],
  [{ client: { payments: client.payments } }, 'https://api.example.com/data'],
]

describe('Valid options are accepted', () => {
  for (const [options, resource] of allowed) {
    test(`${Object.keys(options).join()}: ${resource}`, async () => {
      const decide = open({ ...valid, ...options })
      const decision = await decide({ method: 'GET', target: '/data', proof: undefined, request: undefined })
      assert(decision.outcome === 'challenge')
      const { error, amount, resource: named, category } = JSON.parse(decision.answer.body)
      assert.deepEqual([error, amount, named], ['payment_required', price, resource])
      assert.equal(category, options['category'] ?? undefined)
    })
  }
})

test('Without onError, or with null, a failing handler of node:http is answered with 500', async (context) => {
  const options = { client, merchantDomain, routes: { 'GET /data': { price } }, onError: null }
  const server = await listen(createServer(forNode(options as unknown as PaymentOptions, fail)))
  context.after(server.close)
  assert.equal((await fetch(`${server.url}/free`)).status, 500)
})

function fail(): never {
  throw new Error('the shelf has fallen down')
}
