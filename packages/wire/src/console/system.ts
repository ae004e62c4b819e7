import { Type, type Static } from 'typebox'

import { endpoint } from '../endpoint.ts'
import { described, Nullable, OneOf, Text, Timestamp } from '../fields.ts'
import { maxLengths } from '../lengths.ts'

export const storeKinds = ['sqlite', 'postgres'] as const
export const StoreKind = OneOf(storeKinds)

export const System = Type.Object({
  version: Text(maxLengths.word, { description: 'Version of the service.' }),
  interface_version: Text(maxLengths.word, { description: 'Version of the interface that it serves.' }),
  node_version: Text(maxLengths.word, { description: 'Version of Node.js that it runs on.' }),
  started_at: described(Timestamp, 'When the process that answers was started.'),
  uptime_seconds: Type.Integer({ description: 'Whole seconds since then.' }),
  workers: Type.Integer({
    description:
      'Number of processes that answer on this machine; the figures below are of the one that answered.',
  }),
  store: Type.Object(
    {
      kind: described(StoreKind, 'Kind of database.'),
      place: Text(maxLengths.message, { description: 'The file, or the server without its password.' }),
      schema_version: Type.Integer({ description: 'Number of migrations that the database has.' }),
    },
    { title: 'SystemStore', description: 'The database.' },
  ),
  queue: Type.Object(
    {
      waiting: Type.Integer({ description: 'Number of operations that wait for a transaction.' }),
      most: Type.Integer({ description: 'Max number that may wait; one more is turned away.' }),
    },
    { title: 'SystemQueue', description: 'What waits for the database.' },
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
      description: 'Transactions of this process; durations are those of the last 1,024.',
    },
  ),
  disk: Type.Object(
    {
      ledger_bytes: Type.Integer({
        description: 'Size in bytes of the file and its log, or of the database on its server.',
      }),
      free_bytes: described(
        Nullable(Type.Integer()),
        'Free bytes on the disk of the file; null for a server, whose disk is not seen from here.',
      ),
      total_bytes: described(
        Nullable(Type.Integer()),
        'Size of that disk in bytes; null for a server, whose disk is not seen from here.',
      ),
    },
    { title: 'SystemDisk', description: 'How much room the ledger takes and has.' },
  ),
  memory_bytes: Type.Integer({ description: 'Memory of the process in bytes.' }),
  open_feeds: Type.Integer({ description: 'Number of live feeds that are open.' }),
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
  responseDescriptions: { 200: 'The state of the process that answered.' },
  errors: ['query_too_slow'],
})
