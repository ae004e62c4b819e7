import type { Vector } from './vector.ts'

const limit = ['query', 'limit']
const notInteger = {
  type: 'int_parsing',
  loc: limit,
  msg: 'Input should be a valid integer, unable to parse string as an integer',
}

const get = { method: 'GET', headers: {}, body: undefined, status: 200, detail: undefined }
const json = { 'content-type': 'application/json' }

/** The cases whose body is not read: queries, paths and credentials. */
export const requestVectors: Vector[] = [
  {
    ...get,
    id: 'v360',
    title: 'a limit below one',
    path: '/mandates?limit=-1',
    status: 422,
    detail: [
      {
        type: 'greater_than_equal',
        loc: limit,
        msg: 'Input should be greater than or equal to 1',
        input: '-1',
        ctx: { ge: 1 },
      },
    ],
    needsService: false,
  },
  {
    ...get,
    id: 'v361',
    title: 'a limit with a fraction',
    path: '/mandates?limit=1.5',
    status: 422,
    detail: [{ ...notInteger, input: '1.5' }],
    needsService: false,
  },
  {
    ...get,
    id: 'v362',
    title: 'an empty limit',
    path: '/mandates?limit=',
    status: 422,
    detail: [{ ...notInteger, input: '' }],
    needsService: false,
  },
  {
    ...get,
    id: 'v378',
    title: 'the invalid body of a list request is not read',
    path: '/mandates',
    headers: json,
    body: Buffer.from('{'),
    needsService: true,
  },
  { ...get, id: 'v379', title: 'any text is an id', path: '/mandates/%20', needsService: true },
  {
    ...get,
    id: 'v385',
    title: 'the invalid body of a revocation is not read',
    method: 'PATCH',
    path: '/agents/agent_1/revoke',
    headers: json,
    body: Buffer.from('{not json'),
    needsService: true,
  },
  {
    ...get,
    id: 'v386',
    title: 'the invalid body of a deletion is not read',
    method: 'DELETE',
    path: '/accounts/api-keys/key_1',
    headers: json,
    body: Buffer.from([0xff]),
    needsService: true,
  },
  {
    ...get,
    id: 'v402',
    title: 'credentials of another scheme come before the body',
    method: 'POST',
    path: '/mandates',
    headers: { ...json, authorization: 'Basic YTpi' },
    body: Buffer.from('{}'),
    status: 401,
    detail: 'Not authenticated',
    needsService: true,
  },
]
