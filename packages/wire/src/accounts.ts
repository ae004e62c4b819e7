import { Type, type Static } from './schema/type.ts'

import { IssuedApiKey } from './api-keys.ts'
import { readerRoles } from './roles.ts'
import { endpoint } from './endpoint.ts'
import { described, environments, Id, Name, Nullable, OneOf, Text, Timestamp } from './fields.ts'
import { maxLengths } from './lengths.ts'
import { PageOf, PageQuery } from './pages.ts'

export const accountStatuses = ['active', 'disabled'] as const
export type AccountStatus = (typeof accountStatuses)[number]
export const AccountStatus = OneOf(accountStatuses)

/** Account request fields (Resources and their fields). */
export const NewAccount = Type.Object({
  name: described(Name, 'Name of the person or organization that owns the account.'),
  email: Type.String({
    format: 'email',
    maxLength: maxLengths.email,
    description: 'E-mail address of the owner. Nothing is sent to it.',
    examples: ['ada@example.com'],
  }),
  idp_user_id: Text(maxLengths.idpUserId, {
    description: 'Id of the user at an external identity provider; unique among all accounts.',
    examples: ['idp_ada'],
  }),
})

export const Account = Type.Object({
  id: described(Id, 'Id of the account.'),
  name: described(Name, 'Name of the person or organization that owns the account.'),
  email: Text(maxLengths.email, { description: 'E-mail address of the owner, as provided.' }),
  idp_user_id: Text(maxLengths.idpUserId, {
    description: 'Id of the user at an external identity provider.',
  }),
  status: described(AccountStatus, 'Whether its keys and sessions work. They do not while it is `disabled`.'),
  created_at: described(Timestamp, 'When the account was created.'),
  disabled_at: described(Nullable(Timestamp), 'When the account was disabled; null while it is active.'),
})
export type Account = Static<typeof Account>

export const CreatedAccount = Type.Object({
  ...Account.properties,
  api_keys: Type.Array(IssuedApiKey, {
    maxItems: environments.length,
    description: 'An owner key for each environment, shown only once.',
  }),
})

export const createAccount = endpoint({
  id: 'createAccount',
  method: 'POST',
  path: '/accounts',
  tag: 'Accounts',
  summary: 'Creates an account with an owner key for each environment.',
  roles: ['operator'],
  body: NewAccount,
  responses: { 201: CreatedAccount },
  responseDescriptions: { 201: 'The account was created; its two owner keys are shown only once.' },
  errors: ['account_exists'],
})

const accountParams = Type.Object({ account_id: described(Id, 'Id of the account.') })

export const listAccounts = endpoint({
  id: 'listAccounts',
  method: 'GET',
  path: '/accounts',
  tag: 'Accounts',
  summary: 'Lists all accounts of the service, newest first.',
  roles: ['operator'],
  query: PageQuery,
  responses: { 200: PageOf(Account) },
  responseDescriptions: { 200: 'A page of accounts.' },
  errors: [],
})

export const getAccount = endpoint({
  id: 'getAccount',
  method: 'GET',
  path: '/accounts/{account_id}',
  tag: 'Accounts',
  summary: 'Returns an account. Operators can read any account, others only their own.',
  roles: readerRoles,
  params: accountParams,
  responses: { 200: Account },
  responseDescriptions: { 200: 'The account.' },
  errors: ['not_found'],
  errorDescriptions: {
    not_found: 'no account has that id, or an owner requests another account',
  },
})

export const disableAccount = endpoint({
  id: 'disableAccount',
  method: 'PATCH',
  path: '/accounts/{account_id}/disable',
  tag: 'Accounts',
  summary:
    'Disables an account. When this returns, its keys and sessions no longer work, and its open proofs are voided.',
  roles: ['operator'],
  params: accountParams,
  responses: { 200: Account },
  responseDescriptions: { 200: 'The account is disabled, by this request or an earlier one.' },
  errors: ['not_found', 'own_account'],
  errorDescriptions: { not_found: 'no account has that id' },
})

export const enableAccount = endpoint({
  id: 'enableAccount',
  method: 'PATCH',
  path: '/accounts/{account_id}/enable',
  tag: 'Accounts',
  summary: 'Enables a disabled account: its keys and unexpired sessions work again.',
  roles: ['operator'],
  params: accountParams,
  responses: { 200: Account },
  responseDescriptions: { 200: 'The account is active, by this request or an earlier one.' },
  errors: ['not_found'],
  errorDescriptions: { not_found: 'no account has that id' },
})
