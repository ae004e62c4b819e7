import { listConsoleApiKeys } from '@purser/wire/console/api-keys'

import { answerPage } from '../../http/pagination.ts'
import type { Serve } from '../../http/serve.ts'
import { toWire } from '../api-keys.ts'
import { toNullableTimestamp, type RouteContext } from '../context.ts'

export function serveConsoleApiKeys(serve: Serve, { store }: Pick<RouteContext, 'store'>): void {
  serve(listConsoleApiKeys, ({ caller, query, url }) =>
    answerPage(
      query,
      url,
      (page) => store.listConsoleKeys(caller, page),
      (key) => ({
        ...toWire(key),
        last_used_at: toNullableTimestamp(key.lastUsedAtMs),
        agent_name: key.agentName,
      }),
    ),
  )
}
