import { Type } from './schema/type.ts'

import { endpoint } from './endpoint.ts'

const health = Type.Object(
  { status: Type.Literal('ok', { description: 'Always `ok`.' }) },
  { title: 'Health', description: 'The result of a successful health check.' },
)

export const healthz = endpoint({
  id: 'healthz',
  method: 'GET',
  path: '/healthz',
  tag: 'Health',
  summary: 'Liveness: the process answers.',
  roles: 'public',
  responses: { 200: health },
  responseDescriptions: { 200: 'The process is running. Use `/readyz` to check its store.' },
  errors: [],
})

export const readyz = endpoint({
  id: 'readyz',
  method: 'GET',
  path: '/readyz',
  tag: 'Health',
  summary: 'Readiness: the store answers, and the service is not about to stop.',
  roles: 'public',
  responses: { 200: health },
  responseDescriptions: { 200: 'The service accepts requests.' },
  errors: ['shutting_down', 'store_unavailable'],
  errorDescriptions: { store_unavailable: 'the store does not answer, or its last commit failed' },
})
