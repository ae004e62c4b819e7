import type { Schema } from '../schema/type.ts'

import * as accounts from '../accounts.ts'
import * as agents from '../agents.ts'
import * as apiKeys from '../api-keys.ts'
import * as approvals from '../approvals.ts'
import * as auditLog from '../audit-log.ts'
import * as backtests from '../mandates/backtests.ts'
import * as authorizations from '../authorizations.ts'
import * as consoleAgents from '../console/agents.ts'
import * as consoleApiKeys from '../console/api-keys.ts'
import * as consoleFeed from '../console/feed.ts'
import * as consoleMandates from '../console/mandates.ts'
import * as consoleOverview from '../console/overview.ts'
import * as consoleSearch from '../console/search.ts'
import * as consoleSellers from '../console/sellers.ts'
import * as consoleSession from '../console/session.ts'
import * as consoleSpending from '../console/spending.ts'
import * as consoleStatus from '../console/status.ts'
import * as consoleStop from '../console/stop.ts'
import * as consoleSystem from '../console/system.ts'
import * as consoleTransactions from '../console/transactions.ts'
import * as errors from '../errors.ts'
import * as fields from '../fields.ts'
import * as journal from '../accounting/journal.ts'
import * as budgets from '../limits/budgets.ts'
import * as limits from '../limits/limits.ts'
import * as mandates from '../mandates.ts'
import * as payments from '../payments.ts'
import * as policy from '../policy.ts'
import * as refunds from '../refunds.ts'
import * as sellers from '../sellers.ts'
import * as sessions from '../sessions.ts'
import * as settlements from '../accounting/settlements.ts'
import * as testClock from '../limits/test-clock.ts'
import * as transactions from '../transactions.ts'
import * as verifyAgent from '../verify-agent.ts'

/** The modules whose exported schemas appear in the OpenAPI document under their export names. */
const modules: readonly Readonly<Record<string, unknown>>[] = [
  accounts,
  agents,
  apiKeys,
  approvals,
  auditLog,
  backtests,
  authorizations,
  consoleAgents,
  consoleApiKeys,
  consoleFeed,
  consoleMandates,
  consoleOverview,
  consoleSearch,
  consoleSellers,
  consoleSession,
  consoleSpending,
  consoleStatus,
  consoleStop,
  consoleSystem,
  consoleTransactions,
  errors,
  fields,
  journal,
  budgets,
  limits,
  mandates,
  payments,
  policy,
  refunds,
  sellers,
  sessions,
  settlements,
  testClock,
  transactions,
  verifyAgent,
]

/** The exported name of each object, by its properties, and of each vocabulary, by its values. */
const names = new Map<unknown, string>()
const schemas = new Map<string, Schema>()

for (const [name, value] of modules.flatMap((one) => Object.entries(one))) {
  if (!isNamable(value) || schemas.get(name) === value) continue
  if (schemas.has(name)) throw new TypeError(`two schemas have the name ${name}`)
  schemas.set(name, value)
  names.set(keyOf(value), name)
}

/** The schemas of a document: a named schema becomes a component, replaced by a reference. */
export interface SchemaComponents {
  /** The schema, or a reference to it. */
  readonly place: (schema: Schema) => unknown
  /** The schemas referenced so far, by name. */
  readonly components: () => Record<string, unknown>
}

/**
 * Collects the named schemas of a document. An object is named after its export, or by its `title` if the
 * client needs no name for it; a vocabulary after the export of its schema.
 */
export function collectSchemas(): SchemaComponents {
  const components = new Map<string, unknown>()

  function place(schema: Schema): unknown {
    const name = schema.title ?? names.get(keyOf(schema))
    if (name === undefined) return inside(schema)
    const declared = schemas.get(name) ?? schema
    // The name is also the title, which generators use if they see only the schema.
    const component = { ...inside(declared), title: name }
    const known = components.get(name)
    if (known === undefined) components.set(name, component)
    else if (JSON.stringify(known) !== JSON.stringify(component)) {
      throw new TypeError(`two schemas have the name ${name}`)
    }
    return { $ref: `#/components/schemas/${name}`, ...annotationsBeside(schema, declared) }
  }

  /** The schema itself, with references to its named sub-schemas. */
  function inside(schema: Schema): Record<string, unknown> {
    const entries = Object.entries(schema).map(([keyword, value]) => {
      if (keyword === 'items') return [keyword, place(value as Schema)]
      if (keyword === 'anyOf') return [keyword, (value as Schema[]).map(place)]
      if (keyword !== 'properties' && keyword !== 'patternProperties') return [keyword, value]
      const parts = Object.entries(value as Record<string, Schema>)
      return [keyword, Object.fromEntries(parts.map(([name, part]) => [name, place(part)]))]
    })
    return Object.fromEntries(entries) as Record<string, unknown>
  }

  return {
    place,
    components: () => Object.fromEntries([...components].sort(([one], [other]) => (one < other ? -1 : 1))),
  }
}

/** What a usage of a named schema adds to the schema itself. */
function annotationsBeside(schema: Schema, declared: Schema): Record<string, unknown> {
  const annotations = ['description', 'default', 'examples'] as const
  return Object.fromEntries(
    annotations.flatMap((name) =>
      schema[name] === undefined || schema[name] === declared[name] ? [] : [[name, schema[name]]],
    ),
  )
}

/** What identifies a schema regardless of its description. */
function keyOf({ properties, enum: words }: Schema): unknown {
  return properties ?? words?.join()
}

function isNamable(value: unknown): value is Schema {
  if (typeof value !== 'object' || value === null || !('type' in value) || 'title' in value) return false
  return 'properties' in value || 'enum' in value
}
