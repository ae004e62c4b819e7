import { Type } from 'typebox'

import { endpoint } from './endpoint.ts'

export const healthz = endpoint({
  id: 'healthz',
  method: 'GET',
  path: '/healthz',
  tag: 'Health',
  summary: 'The process answers.',
  roles: 'public',
  responses: { 200: Type.Object({ status: Type.Literal('ok') }) },
  errors: [],
})

export const readyz = endpoint({
  id: 'readyz',
  method: 'GET',
  path: '/readyz',
  tag: 'Health',
  summary: 'The store answers and its schema is the one this release needs.',
  roles: 'public',
  responses: { 200: Type.Object({ status: Type.Literal('ok') }) },
  errors: ['store_unavailable'],
})
