import { requirePayment } from '@purser/merchant/next'
import { merchant } from '../../merchant.js'

export const GET = requirePayment({ ...merchant, price: '0.05' }, () => {
  return Response.json({ sky: 'clear', celsius: 21 })
})
