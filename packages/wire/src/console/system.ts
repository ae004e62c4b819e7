import { Type, type Static } from '../schema/type.ts'

import { endpoint } from '../endpoint.ts'
import { described, Nullable, OneOf, Text, Timestamp } from '../fields.ts'
import { maxLengths } from '../lengths.ts'

export const storeKinds = ['sqlite', 'postgres'] as const
export const StoreKind = OneOf(storeKinds)

export const System = Type.Object({
  version: Text(maxLengths.word, { description: 'Version of the service.' }),
  interface_version: Text(maxLengths.word, { description: 'Version of the interface.' }),
  node_version: Text(maxLengths.word, { description: 'Version of Node.js.' }),
  started_at: described(Timestamp, 'When the answering process was started.'),
  uptime_seconds: Type.Integer({ description: 'Whole seconds since its start.' }),
  workers: Type.Integer({
    description: 'Number of processes on this machine; the figures below are for the one that answered.',
  }),
  store: Type.Object(
    {
      kind: described(StoreKind, 'Kind of database.'),
      place: Text(maxLengths.message, { description: 'The file, or the server without its password.' }),
      schema_version: Type.Integer({ description: 'Number of applied migrations.' }),
    },
    { title: 'SystemStore', description: 'The database.' },
  ),
  queue: Type.Object(
    {
      waiting: Type.Integer({ description: 'Number of operations waiting for a transaction.' }),
      most: Type.Integer({ description: 'Max number of waiting operations; more are refused.' }),
    },
    { title: 'SystemQueue', description: 'Operations waiting for the database.' },
  ),
  commit: Type.Object(
    {
      count: Type.Integer({ description: 'Number of transactions since the start.' }),
      p50_ms: described(
        Nullable(Type.Number()),
        'Median duration of a transaction in milliseconds; null before the first.',
      ),
      p99_ms: described(
        Nullable(Type.Number()),
        '99th percentile of the duration in milliseconds; null before the first.',
      ),
    },
    {
      title: 'SystemCommit',
      description: 'Transactions of this process; durations are for the last 1,024.',
    },
  ),
  disk: Type.Object(
    {
      ledger_bytes: Type.Integer({
        description: 'Size in bytes of the file and its WAL, or of the database on its server.',
      }),
      free_bytes: described(
        Nullable(Type.Integer()),
        'Free bytes on the disk of the file; null for a server, whose disk is not visible.',
      ),
      total_bytes: described(
        Nullable(Type.Integer()),
        'Size of that disk in bytes; null for a server, whose disk is not visible.',
      ),
    },
    { title: 'SystemDisk', description: 'Disk usage of the ledger.' },
  ),
  memory_bytes: Type.Integer({ description: 'Memory of the process in bytes.' }),
  open_feeds: Type.Integer({ description: 'Number of open live feeds.' }),
})
export type System = Static<typeof System>

export const getSystem = endpoint({
  id: 'getSystem',
  method: 'GET',
  path: '/v1/console/system',
  tag: 'Console',
  summary: 'Returns the state of the service.',
  roles: ['operator'],
  responses: { 200: System },
  responseDescriptions: { 200: 'The state of the process that answered.' },
  errors: ['query_too_slow'],
})
