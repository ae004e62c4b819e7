import { Type, type Static } from '../schema/type.ts'

import { ownerRoles, readerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Id, Name, Nullable, Text, Timestamp, noOtherFields } from '../fields.ts'
import { Limits, LimitUsage, LimitUsages, NewLimits } from './limits.ts'
import { PageOf, PageQuery } from '../pages.ts'
import { maxLengths } from '../lengths.ts'

/** Max depth of nested budgets. */
export const maxBudgetLevels = 4

export const Budget = Type.Object({
  id: described(Id, 'Id of the budget.'),
  name: described(Name, 'Display name of the budget.'),
  parent_id: described(Nullable(Id), 'Budget above it; null for none. It never changes.'),
  limits: Limits,
  frozen_at: described(Nullable(Timestamp), 'When it was frozen; null if it is not.'),
  version: Type.Integer({
    minimum: 1,
    description: 'Version number of its name and limits. Send it in `If-Match` to change the budget.',
  }),
  usage: Type.Optional(LimitUsages),
  children: Type.Optional(Type.Integer({ minimum: 0, description: 'Number of budgets directly below it.' })),
  created_at: described(Timestamp, 'When the budget was created.'),
  updated_at: described(Timestamp, 'When it last changed; initially when it was created.'),
})
export type Budget = Static<typeof Budget>

export const NewBudget = Type.Object(
  {
    name: described(Name, 'Display name of the budget; need not be unique.'),
    parent_id: Type.Optional(
      described(
        Nullable(Text(maxLengths.id)),
        'Budget above it, whose limits apply too; null or omitted for none. At most four levels.',
      ),
    ),
    limits: described(
      NewLimits,
      'Limits that all payments below the budget share. None of them counts `per` subject.',
    ),
  },
  noOtherFields,
)

/** The changes of a budget: omitted fields stay unchanged. */
export const BudgetChange = Type.Object(
  {
    name: Type.Optional(described(Name, 'Display name of the budget.')),
    limits: Type.Optional(
      described(
        NewLimits,
        'Limits that all payments below the budget share, all of them. One that counts over the same window as before keeps its id and what it has counted; one that is added counts what was committed in its current period.',
      ),
    ),
    end_holds: Type.Optional(
      Type.Boolean({
        description:
          'Whether all open proofs below the budget end at once, also if nothing else changes, so that a limit may be set below what is committed. Default false: they stay.',
      }),
    ),
  },
  noOtherFields,
)
export type BudgetChange = Static<typeof BudgetChange>

/** Why a limit of a budget cannot be cut this far, with the figures. */
export const LimitBelowCommitted = Type.Object({
  detail: Type.Literal('budget_below_committed', { description: 'Always `budget_below_committed`.' }),
  usage: described(LimitUsage, 'The limit with the max that was requested, and what is committed.'),
})

const BudgetParams = Type.Object({ budget_id: described(Id, 'Id of the budget.') })

export const createBudget = endpoint({
  id: 'createBudget',
  method: 'POST',
  path: '/v1/budgets',
  tag: 'Budgets',
  summary: 'Creates a budget that mandates and agents can share.',
  roles: ownerRoles,
  body: NewBudget,
  responses: { 201: Budget },
  responseDescriptions: {
    201: 'The budget was created, now or by an earlier request with this `Idempotency-Key`.',
  },
  errors: ['invalid_idempotency_key', 'idempotency_key_reused', 'budget_not_found', 'budget_too_deep'],
  errorDescriptions: {
    idempotency_key_reused: 'your account used the Idempotency-Key to create something else',
    store_unavailable:
      'the store is unavailable; the budget may or may not have been created: a retry with the same Idempotency-Key creates it at most once',
    budget_not_found: 'the parent does not exist in the account and environment of the key',
  },
})

export const listBudgets = endpoint({
  id: 'listBudgets',
  method: 'GET',
  path: '/v1/budgets',
  tag: 'Budgets',
  summary: 'Lists shared budgets, newest first, with the usage of their limits.',
  roles: readerRoles,
  query: PageQuery,
  responses: { 200: PageOf(Budget) },
  responseDescriptions: { 200: 'A page of budgets.' },
  errors: [],
})

export const getBudget = endpoint({
  id: 'getBudget',
  method: 'GET',
  path: '/v1/budgets/{budget_id}',
  tag: 'Budgets',
  summary: 'One shared budget, with the usage of its limits.',
  roles: readerRoles,
  params: BudgetParams,
  responses: { 200: Budget },
  responseDescriptions: { 200: 'The budget.' },
  errors: ['not_found'],
})

export const changeBudget = endpoint({
  id: 'changeBudget',
  method: 'PATCH',
  path: '/v1/budgets/{budget_id}',
  tag: 'Budgets',
  summary: 'Changes the name or the limits of a shared budget at once; requires `If-Match` with its version.',
  roles: ownerRoles,
  params: BudgetParams,
  body: BudgetChange,
  responses: { 200: Budget, 409: LimitBelowCommitted },
  responseDescriptions: {
    200: 'The budget as it is now. If it already was as requested, nothing has changed.',
    409: 'The limit cannot be cut so far: the answer has the figures.',
  },
  errors: [
    'if_match_required',
    'not_found',
    'version_mismatch',
    'budget_below_committed',
    'history_too_long',
  ],
})

export const freezeBudget = endpoint({
  id: 'freezeBudget',
  method: 'POST',
  path: '/v1/budgets/{budget_id}/freeze',
  tag: 'Budgets',
  summary: 'Freezes a shared budget: nothing below it can be paid, and its open proofs are void at once.',
  roles: ownerRoles,
  params: BudgetParams,
  responses: { 200: Budget },
  responseDescriptions: { 200: 'The budget is frozen, by this request or an earlier one.' },
  errors: ['not_found'],
})

export const unfreezeBudget = endpoint({
  id: 'unfreezeBudget',
  method: 'POST',
  path: '/v1/budgets/{budget_id}/unfreeze',
  tag: 'Budgets',
  summary: 'Unfreezes a shared budget. Proofs that the freeze voided stay void.',
  roles: ownerRoles,
  params: BudgetParams,
  responses: { 200: Budget },
  responseDescriptions: { 200: 'The budget is not frozen.' },
  errors: ['not_found'],
})
