import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import { test } from 'node:test'

import { requirePayment } from '@purser/merchant/express'
import express, { type RequestHandler } from 'express'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { openShop, price } from '../testing/purchase.ts'
import { listen } from '../testing/shop.ts'

const service = await shareTestService()
const require = createRequire(import.meta.url)
const compression = require('next/dist/compiled/compression') as () => RequestHandler

for (const order of ['before', 'after'] as const) {
  for (const capture of ['before', 'after', 'metered'] as const) {
    test(`A response of several writes is compressed and charged, with compression ${order} the gate and capture: '${capture}'`, async (context) => {
      const adapter = {
        name: 'Express 5',
        open: (options: Parameters<typeof requirePayment>[0]) => {
          const gate = requirePayment(options)
          const app = express().use(order === 'before' ? [compression(), gate] : [gate, compression()])
          app.get('/data', (_request, response) => {
            response.type('text/plain').write('sunny '.repeat(1_000))
            response.write('rainy '.repeat(1_000))
            response.end('done')
          })
          return listen(createServer(app as RequestListener))
        },
      }
      const { proofFor, pay, spent } = await openShop(context, service, adapter, { capture })
      const { status, text, headers } = await pay('/data', await proofFor('/data'))
      assert.deepEqual([status, headers.get('content-encoding') !== null], [200, true], text)
      assert.equal(text, `${'sunny '.repeat(1_000)}${'rainy '.repeat(1_000)}done`)
      assert.equal(await spent(), price)
    })
  }
}
