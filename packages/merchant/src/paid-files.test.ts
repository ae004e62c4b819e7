import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { requirePayment } from '@purser/merchant/express'
import express from 'express'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import type { Adapter } from '../testing/adapters.ts'
import { openShop } from '../testing/purchase.ts'
import { listen } from '../testing/shop.ts'

const service = await shareTestService()

for (const capture of ['before', 'after', 'metered'] as const) {
  for (const how of ['express.static', 'sendFile'] as const) {
    test(`No shared cache may serve a paid file to others (${how}, capture ${capture})`, async (context) => {
      const root = mkdtempSync(join(tmpdir(), 'purser-test-'))
      context.after(() => rmSync(root, { recursive: true }))
      writeFileSync(join(root, 'report.txt'), 'goods')
      const adapter: Adapter = {
        name: 'Express',
        open: (options) => {
          const app = express().set('env', 'test')
          const sell = requirePayment(options)
          const file = { root, maxAge: '1d' }
          if (how === 'sendFile')
            app.get('/report.txt', sell, (_, response) => response.sendFile('report.txt', file))
          else app.use(sell, express.static(root, file))
          return listen(createServer(app))
        },
      }
      const { proofFor, pay } = await openShop(context, service, adapter, { capture })
      const { status, text, headers } = await pay('/report.txt', await proofFor('/report.txt'))
      assert.deepEqual([status, text], [200, 'goods'])
      assert.equal(headers.get('cache-control'), 'private')
    })
  }
}
