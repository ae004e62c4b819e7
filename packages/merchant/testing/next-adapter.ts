import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'

import type { Payment, PaymentOptions } from '@purser/merchant'

import { toResponse, type Adapter } from './adapters.ts'
import { listen } from './shop.ts'

interface NextShop {
  readonly options: PaymentOptions
  readonly sell: (path: string, payment: Payment | undefined) => Promise<Response>
}

/** The used part of Next. Its own types would make `NODE_ENV` required throughout this repository. */
type Next = (options: { dev: boolean; dir: string }) => {
  prepare: () => Promise<void>
  getRequestHandler: () => RequestListener
  close: () => Promise<void>
}

const require = createRequire(import.meta.url)
const dir = join(import.meta.dirname, 'next-app')

interface Ending {
  readonly after: (stop: () => void | Promise<void>) => void
}

/** Builds the application for production; resolves to the build folder. */
export async function buildNext(context: Ending): Promise<string> {
  const build = `.next-${process.pid}`
  context.after(() => rmSync(join(dir, build), { recursive: true, force: true }))
  const env = { ...process.env, NEXT_SHOP_BUILD: build, NEXT_TELEMETRY_DISABLED: '1' }
  await promisify(execFile)(process.execPath, [require.resolve('next/dist/bin/next'), 'build', dir], { env })
  return build
}

/** Serves every shop from a built application, in this process. */
export async function serveNext(context: Ending, build: string): Promise<Adapter> {
  Object.assign(process.env, { NEXT_SHOP_BUILD: build, NEXT_TELEMETRY_DISABLED: '1' })
  const shops = new Map<string, NextShop>()
  Object.assign(globalThis, { nextShops: shops })
  const application = (require('next') as Next)({ dev: false, dir })
  await application.prepare()
  const handle = application.getRequestHandler()
  context.after(() => application.close())
  return {
    name: 'Next',
    hidesErrors: true,
    open: async (options, shop) => {
      const id = `shop-${shops.size}`
      shops.set(id, { options, sell: async (path, payment) => toResponse(await shop.sell(path, payment)) })
      const server = await listen(createServer(handle))
      return { ...server, url: `${server.url}/${id}` }
    },
  }
}
