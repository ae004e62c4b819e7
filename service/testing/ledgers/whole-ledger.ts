import { denialCodes } from '@purser/wire/policy'

import { activityDimensions } from '../../src/store/ledger/activity.ts'
import { shopDomain } from '../store-ledger.ts'
import type { Store, Page, PageOf } from '../../src/store/store.ts'
import type { MixedLedger } from './mixed-ledger.ts'

/** Everything that a store reads from a ledger: all pages of every list, and every proof. */
export async function readWholeLedger(store: Store, { scopes, callers, nonces }: MixedLedger) {
  const lists = await Promise.all(
    scopes.map(async (scope) => {
      const agents = await everyPage((page) => store.listAgents(scope, {}, page))
      const mandates = await everyPage((page) => store.listMandates(scope, {}, page))
      return {
        agents,
        mandates,
        keys: await everyPage((page) => store.listApiKeys(scope, page)),
        sellers: await everyPage((page) => store.listSellers(scope, page)),
        transactions: await everyPage((page) => store.listTransactions(scope, {}, page)),
        received: await everyPage((page) => store.listTransactions(scope, { receivedOnly: true }, page)),
        denied: await everyPage((page) => store.listTransactions(scope, { status: 'denied' }, page)),
        ofAgents: await Promise.all(
          agents.map(({ id: agentId }) =>
            everyPage((page) => store.listTransactions(scope, { agentId }, page)),
          ),
        ),
        approvals: await everyPage((page) =>
          store.listApprovals(scope, { nowMs: Date.UTC(2026, 10, 20, 13) }, page),
        ),
        versions: await Promise.all(
          mandates.map((mandate) => store.listMandateVersions(mandate, { limit: 10 })),
        ),
        ofMandates: await Promise.all(
          mandates.map(({ id: mandateId }) =>
            everyPage((page) => store.listTransactions(scope, { mandateId }, page)),
          ),
        ),
        sums: await Promise.all(
          activityDimensions.map((dimension) =>
            store.readActivity(scope, {
              dimension,
              subjects: ['', shopDomain, ...denialCodes, ...mandates.map(({ id }) => id)],
              fromMs: 0,
            }),
          ),
        ),
        refusals: await store.readRefusals(scope, {
          subjects: [shopDomain],
          fromMs: 0,
        }),
        consoleKeys: await everyPage((page) => store.listConsoleKeys(scope, page)),
        events: await everyPage((page) => store.listAuditEvents(scope, {}, page)),
        proofs: await Promise.all(nonces.map((nonce) => store.findProof({ ...scope, nonce }))),
      }
    }),
  )
  const facts = await Promise.all(
    callers.flatMap((caller) =>
      lists.flatMap(({ mandates }) =>
        mandates.map(({ id: mandateId, agentId }) =>
          store.readAgentFacts({
            caller,
            agentId,
            mandateId,
            merchantDomain: 'api.example.com',
            nowMs: Date.UTC(2026, 10, 20, 13),
          }),
        ),
      ),
    ),
  )
  return { lists, facts, faults: await store.findLedgerFaults() }
}

async function everyPage<Item>(readPage: (page: Page) => Promise<PageOf<Item>>): Promise<Item[]> {
  const items: Item[] = []
  for (let olderThan: string | undefined; ;) {
    const page = await readPage({ limit: 50, olderThan })
    items.push(...page.items)
    if (page.next === undefined) return items
    olderThan = page.next
  }
}
