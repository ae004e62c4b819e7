import { serve } from '@hono/node-server'
import { Purser } from '@purser/client'
import { requirePayment } from '@purser/merchant/hono'
import { Hono } from 'hono'

const port = Number(process.env.PORT ?? 3000)
const app = new Hono()

// A key with the role `merchant`: it can collect payments and nothing else.
const client = new Purser({ apiKey: process.env.PURSER_MERCHANT_KEY, baseUrl: process.env.PURSER_URL })

// Checked before the payment, so that nobody pays for a year that does not exist.
app.use('/archive/:year', (context, next) =>
  /^[12]\d{3}$/.test(context.req.param('year')) ? next() : context.notFound(),
)

// The price of each path. Paths that are not listed are free.
app.use(
  requirePayment({
    client,
    merchantDomain: 'localhost',
    publicUrl: `http://localhost:${port}`,
    routes: {
      'GET /weather': { price: '0.05' },
      'GET /archive/:year': { price: '2.00', category: 'archives', preflight: true },
    },
  }),
)

app.get('/', (context) => context.text('The weather of the day is at /weather, for 0.05 USDC.\n'))

app.get('/weather', (context) => context.json({ sky: 'clear', celsius: 21 }))

// Content of any length: the response is streamed.
app.get('/archive/:year', (context) => {
  const days = ReadableStream.from(daysOf(context.req.param('year')))
  return context.body(days.pipeThrough(new TextEncoderStream()), 200, { 'content-type': 'text/csv' })
})

function* daysOf(year) {
  const day = new Date(Date.UTC(Number(year)))
  for (; day.getUTCFullYear() === Number(year); day.setUTCDate(day.getUTCDate() + 1)) {
    yield `${day.toISOString().slice(0, 10)},clear\n`
  }
}

serve({ fetch: app.fetch, port }, () => console.log(`open at http://localhost:${port}`)).on('error', refuse)

function refuse(error) {
  const inUse = `Port ${port} is in use. Stop the process that uses it, or choose another port: PORT=3001`
  console.error(error.code === 'EADDRINUSE' ? inUse : error.message)
  process.exit(1)
}
