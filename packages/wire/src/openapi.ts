import type { TObject, TSchema } from 'typebox'

import { createAccount } from './accounts.ts'
import { createAgent, getAgent, listAgents, revokeAgent } from './agents.ts'
import { createApiKey, listApiKeys, revokeApiKey } from './api-keys.ts'
import { listAuditEvents } from './audit-log.ts'
import { getConsoleAgent, listConsoleAgents } from './console-agents.ts'
import { listConsoleApiKeys } from './console-api-keys.ts'
import { streamTransactions } from './console-feed.ts'
import { getConsoleMandate, getMandateSpend, listConsoleMandates } from './console-mandates.ts'
import { getOverview } from './console-overview.ts'
import { searchConsole } from './console-search.ts'
import { listConsoleSellers } from './console-sellers.ts'
import { endSession, getSession, getSignInOptions, startSession } from './console-session.ts'
import { resumeAgents, stopAgents } from './console-stop.ts'
import { getSystem } from './console-system.ts'
import { exportTransactions, getConsoleTransaction, listConsoleTransactions } from './console-transactions.ts'
import { answersOf, type Endpoint } from './endpoint.ts'
import { healthz, readyz } from './health.ts'
import {
  createMandate,
  getMandate,
  listMandates,
  pauseMandate,
  resumeMandate,
  revokeMandate,
} from './mandates.ts'
import { getProof, issueProof, verify } from './payments.ts'
import { evaluate } from './policy.ts'
import { createSeller, listSellers } from './sellers.ts'
import { getTransaction, listTransactions } from './transactions.ts'
import { verifyAgent } from './verify-agent.ts'

/** The version that the interface description carries (Versioning, rule 1). */
export const interfaceVersion = '0.1.0'

/** Every endpoint of the interface. */
export const endpoints = [
  createAccount,
  createApiKey,
  listApiKeys,
  revokeApiKey,
  createAgent,
  listAgents,
  getAgent,
  revokeAgent,
  createMandate,
  listMandates,
  getMandate,
  pauseMandate,
  resumeMandate,
  revokeMandate,
  createSeller,
  listSellers,
  issueProof,
  verify,
  getProof,
  evaluate,
  verifyAgent,
  listTransactions,
  getTransaction,
  listAuditEvents,
  healthz,
  readyz,
  getSignInOptions,
  startSession,
  getSession,
  endSession,
  getOverview,
  streamTransactions,
  stopAgents,
  resumeAgents,
  listConsoleMandates,
  getConsoleMandate,
  getMandateSpend,
  listConsoleTransactions,
  exportTransactions,
  getConsoleTransaction,
  listConsoleAgents,
  getConsoleAgent,
  listConsoleSellers,
  listConsoleApiKeys,
  searchConsole,
  getSystem,
] as unknown as readonly Endpoint[]

/** What a retry with the same `Idempotency-Key` gets, by the endpoint that takes one. */
export const retries: Readonly<Record<string, string>> = {
  verify:
    'the same proof with the same key, by the same API key, gets the first answer again, with `Idempotent-Replayed: true`.',
  stopAgents:
    'a stop with the same key, in the same account and environment, is the same stop: it pauses what is active again, and answers with the same `stop_id` and all that the stop has done.',
}

function idempotencyKeyOf(one: Endpoint): unknown[] {
  const retry = retries[one.id]
  if (retry === undefined) return []
  return [
    {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description: `For a retry: ${retry}`,
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    },
  ]
}

/** The OpenAPI 3.1 document of the interface. */
export const openApiDocument = {
  openapi: '3.1.0',
  info: {
    title: 'Purser',
    version: interfaceVersion,
    description: 'Spending mandates for software agents.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  security: [{ bearer: [] }],
  tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
  paths: pathsOf(endpoints),
  components: {
    securitySchemes: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        description: 'An API key: `svc_sand_…` for the sandbox, `svc_prod_…` for production.',
      },
    },
  },
}

function pathsOf(declared: readonly Endpoint[]): Record<string, Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const one of declared) {
    paths[one.path] ??= {}
    Object.assign(paths[one.path] ?? {}, { [one.method.toLowerCase()]: operationOf(one) })
  }
  return paths
}

function operationOf(one: Endpoint): Record<string, unknown> {
  const access = one.roles === 'public' ? 'No key needed.' : `Roles: ${one.roles.join(', ')}.`
  return {
    operationId: one.id,
    tags: [one.tag],
    summary: one.summary,
    description: access,
    ...(one.roles === 'public' ? { security: [] } : {}),
    parameters: [
      ...parametersOf(one.params, 'path'),
      ...parametersOf(one.query, 'query'),
      ...idempotencyKeyOf(one),
    ],
    ...(one.body
      ? { requestBody: { required: true, content: { 'application/json': { schema: one.body } } } }
      : {}),
    responses: responsesOf(one),
  }
}

function parametersOf(schema: TObject | undefined, where: 'path' | 'query'): unknown[] {
  const required: readonly string[] = schema?.required ?? []
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => ({
    name,
    in: where,
    required: required.includes(name),
    schema: property satisfies TSchema,
  }))
}

function responsesOf(one: Endpoint): Record<string, unknown> {
  const responses = Object.entries(answersOf(one)).map(([status, { description, schema }]) => [
    status,
    {
      description,
      content: { [(Number(status) < 300 && one.produces) || 'application/json']: { schema } },
    },
  ])
  return Object.fromEntries(responses) as Record<string, unknown>
}
