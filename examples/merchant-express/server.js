import { Purser } from '@purser/client'
import { requirePayment } from '@purser/merchant/express'
import express from 'express'

const port = process.env.PORT ?? 3000
const app = express()

// A key with the role `merchant`: it can collect payments and nothing else.
const client = new Purser({ apiKey: process.env.PURSER_MERCHANT_KEY, baseUrl: process.env.PURSER_URL })

// The domain that mandates allow, and the public URL. In production, `merchantDomain: 'api.example.com'` is
// enough: the URL defaults to `https://api.example.com`.
const merchant = { client, merchantDomain: 'localhost', publicUrl: `http://localhost:${port}` }

app.get('/weather', requirePayment({ ...merchant, price: '0.05' }), (request, response) => {
  response.json({ sky: 'clear', celsius: 21 })
})

// A price can depend on the request. It is a string because amounts are compared as text.
const prices = new Map(Object.entries({ 1: '0.05', 3: '0.12', 7: '0.25' }))
const byDays = ({ query }) => prices.get(query.days) ?? '0.05'

app.get('/forecast', requirePayment({ ...merchant, price: byDays }), (request, response) => {
  response.json({ days: prices.has(request.query.days) ? Number(request.query.days) : 1, sky: 'rain, later' })
})

app.get('/', (request, response) => {
  response.send('The weather of the day is at /weather, for 0.05 USDC.\n')
})

// Express passes a listen error, such as a port in use, to the same callback.
app.listen(port, (error) => (error ? refuse(error) : console.log(`open at http://localhost:${port}`)))

function refuse(error) {
  const inUse = `Port ${port} is in use. Stop the process that uses it, or choose another port: PORT=3001`
  console.error(error.code === 'EADDRINUSE' ? inUse : error.message)
  process.exit(1)
}
