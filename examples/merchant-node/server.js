import { createServer } from 'node:http'

import { Purser } from '@purser/client'
import { requirePayment } from '@purser/merchant/node'

const port = process.env.PORT ?? 3000
const publicUrl = `http://localhost:${port}`

// A key with the role `merchant`: it can collect payments and nothing else.
const client = new Purser({ apiKey: process.env.PURSER_MERCHANT_KEY, baseUrl: process.env.PURSER_URL })

const sell = requirePayment(
  { client, merchantDomain: 'localhost', publicUrl, price: '0.05' },
  (_, response) => {
    response.setHeader('content-type', 'application/json').end('{"sky":"clear","celsius":21}')
  },
)

createServer(sell)
  .on('error', refuse)
  .listen(port, () => console.log(`open at ${publicUrl}`))

function refuse(error) {
  const inUse = `Port ${port} is in use. Stop the process that uses it, or choose another port: PORT=3001`
  console.error(error.code === 'EADDRINUSE' ? inUse : error.message)
  process.exit(1)
}
