import { searchConsole } from '@purser/wire/console/search'

import { ok } from '../../http/answers.ts'
import type { Serve } from '../../http/serve.ts'
import type { RouteContext } from '../context.ts'

/** Max records in a search result. */
const mostFound = 20

export function serveConsoleSearch(serve: Serve, { store }: Pick<RouteContext, 'store'>): void {
  serve(searchConsole, async ({ caller, query }) => {
    const text = query.q?.trim() ?? ''
    return ok(text === '' ? [] : await store.search(caller, text, mostFound))
  })
}
