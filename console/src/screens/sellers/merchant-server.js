import { Purser } from '@purser/client'
import { requirePayment } from '@purser/merchant/express'
import express from 'express'

const client = new Purser({
  apiKey: process.env.PURSER_MERCHANT_KEY,
  baseUrl: 'http://127.0.0.1:8080',
})
const paid = requirePayment({
  client,
  merchantDomain: 'api.example.com',
  publicUrl: 'https://api.example.com',
  price: '0.10',
})

const app = express()
app.get('/data', paid, (request, response) => response.json({ data: 'paid for' }))
app.listen(3000)
