import { Type, type Static } from 'typebox'

import { endpoint } from './endpoint.ts'
import { Nullable, OneOf, Timestamp } from './fields.ts'

export const storeKinds = ['sqlite', 'postgres'] as const

export const System = Type.Object({
  version: Type.String(),
  interface_version: Type.String(),
  node_version: Type.String(),
  started_at: Timestamp,
  uptime_seconds: Type.Integer(),
  /** How many processes answer on this machine; the figures below are of the one that answered. */
  workers: Type.Integer(),
  store: Type.Object({
    kind: OneOf(storeKinds),
    place: Type.String({ description: 'The file, or the server without its password.' }),
    schema_version: Type.Integer(),
  }),
  queue: Type.Object({
    waiting: Type.Integer({ description: 'Acts that wait for a transaction.' }),
    most: Type.Integer({ description: 'One more than that is turned away.' }),
  }),
  /** Of the last 1,024 transactions of this process, in milliseconds; null before the first. */
  commit: Type.Object({
    count: Type.Integer({ description: 'Since the start.' }),
    p50_ms: Nullable(Type.Number()),
    p99_ms: Nullable(Type.Number()),
  }),
  disk: Type.Object({
    ledger_bytes: Type.Integer({ description: 'Of the file and its log, or of the database on its server.' }),
    /** Null for a server, whose disk is not seen from here. */
    free_bytes: Nullable(Type.Integer()),
    total_bytes: Nullable(Type.Integer()),
  }),
  memory_bytes: Type.Integer(),
  open_feeds: Type.Integer(),
})
export type System = Static<typeof System>

export const getSystem = endpoint({
  id: 'getSystem',
  method: 'GET',
  path: '/v1/console/system',
  tag: 'Console',
  summary: 'How the service itself is.',
  roles: ['operator'],
  responses: { 200: System },
  errors: ['query_too_slow'],
})
