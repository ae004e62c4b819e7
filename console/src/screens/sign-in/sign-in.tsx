import { ApiError } from '@purser/client'
import { useState } from 'react'
import { useLocation } from 'react-router'

import { explainFailure } from '../../api/failures.ts'
import { isSessionExpired, useSignIn, useSignInOptions } from '../../api/session.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { SignInFrame } from './sign-in-frame.tsx'

/** Sign-in with the key of an owner, operator or approver, or with the identity provider if configured. */
export function SignIn() {
  const [key, setKey] = useState('')
  const options = useSignInOptions()
  const signIn = useSignIn()
  const oidcPath = options.data?.oidc_path
  const { pathname, search } = useLocation()
  return (
    <SignInFrame title="Sign in to Purser">
      {isSessionExpired() && (
        <Notice tone="warn">
          Your session has ended. Sign in again to continue where you were; your input is kept.
        </Notice>
      )}
      {oidcPath && (
        <>
          <a className="button main" href={`${oidcPath}?return_to=${encodeURIComponent(pathname + search)}`}>
            Sign in with your identity provider
          </a>
          <p className="divider">or with a key</p>
        </>
      )}
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          signIn.mutate({ api_key: key.trim() })
        }}
      >
        <TextField
          label="Owner or operator key"
          type="password"
          value={key}
          onChange={setKey}
          autoComplete="off"
          spellCheck={false}
          required
          placeholder="svc_sand_… or svc_prod_…"
          hint="Or the key of an approver. A sandbox key shows the sandbox, a production key shows production. It is exchanged for a session, and never stored in this browser."
        />
        {signIn.isError && <Notice tone="bad">{explainSignIn(signIn.error)}</Notice>}
        <Button look={oidcPath ? 'plain' : 'main'} type="submit" disabled={signIn.isPending}>
          {signIn.isPending ? 'Signing in…' : 'Sign in'}
        </Button>
      </form>
      <details className="small">
        <summary>Where do I find a key?</summary>
        <p className="quiet">
          The first start of the service printed two operator keys, and a set-up link that opens this console
          without one. Later keys are issued here under Keys, or with <code>POST /accounts/api-keys</code>. If
          all are lost, stop the service and run <code>npx purser keys issue --operator</code> on its machine.
        </p>
      </details>
    </SignInFrame>
  )
}

function explainSignIn(error: Error): string {
  if (error instanceof ApiError && error.code === 'insufficient_scope') {
    return 'This is a key for an agent or a merchant. The console is for owners, operators and approvers.'
  }
  return explainFailure(error)
}
