import { Type } from 'typebox'

import { endpoint } from './endpoint.ts'

const health = Type.Object(
  { status: Type.Literal('ok', { description: 'Always `ok`.' }) },
  { title: 'Health', description: 'What a probe is told when all is well.' },
)

export const healthz = endpoint({
  id: 'healthz',
  method: 'GET',
  path: '/healthz',
  tag: 'Health',
  summary: 'The process answers.',
  roles: 'public',
  responses: { 200: health },
  responseDescriptions: { 200: 'The process runs. Whether its store answers is said by `/readyz`.' },
  errors: [],
})

export const readyz = endpoint({
  id: 'readyz',
  method: 'GET',
  path: '/readyz',
  tag: 'Health',
  summary: 'The service takes requests: its store answers, and it is not about to stop.',
  roles: 'public',
  responses: { 200: health },
  responseDescriptions: { 200: 'The service takes requests.' },
  errors: ['shutting_down', 'store_unavailable'],
  errorDescriptions: { store_unavailable: 'the store does not answer, or could not commit lately' },
})
