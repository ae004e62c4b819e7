import { Type, type Static } from 'typebox'

import { IssuedApiKey } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { Id, Timestamp } from './fields.ts'

/** Account request fields (Resources and their fields). */
export const NewAccount = Type.Object({
  name: Type.String(),
  email: Type.String({ format: 'email', examples: ['ada@example.com'] }),
  idp_user_id: Type.String({ description: 'The user at an external identity provider.' }),
})

export const Account = Type.Object({
  id: Id,
  name: Type.String(),
  email: Type.String(),
  idp_user_id: Type.String(),
  created_at: Timestamp,
})
export type Account = Static<typeof Account>

export const CreatedAccount = Type.Object({
  ...Account.properties,
  api_keys: Type.Array(IssuedApiKey, { description: 'An owner key of each environment, shown this once.' }),
})

export const createAccount = endpoint({
  id: 'createAccount',
  method: 'POST',
  path: '/accounts',
  tag: 'Accounts',
  summary: 'Creates an account, with an owner key of each environment.',
  roles: ['operator'],
  body: NewAccount,
  responses: { 201: CreatedAccount },
  errors: ['account_exists'],
})
