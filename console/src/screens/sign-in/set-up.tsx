import { useEffect, useState } from 'react'
import { Navigate, useNavigate } from 'react-router'

import { explainFailure } from '../../api/failures.ts'
import { useSignIn } from '../../api/session.ts'
import { Button } from '../../ui/button.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Waiting } from '../../ui/waiting.tsx'
import { SignInFrame } from './sign-in-frame.tsx'

/**
 * The set-up link of a first start: its token is in the fragment, is used once, and is removed from the URL
 * at once.
 */
export function SetUp() {
  const signIn = useSignIn()
  const navigate = useNavigate()
  const [token] = useState(() => location.hash.slice(1))
  const begin = signIn.mutate
  useEffect(() => {
    if (token === '') return
    history.replaceState(history.state, '', location.pathname)
    begin({ set_up_token: token })
  }, [begin, token])
  if (signIn.isSuccess || token === '') return <Navigate to="/" replace />
  return (
    <SignInFrame title="Set up Purser">
      {signIn.isError ? (
        <>
          <Notice tone="bad">{explainFailure(signIn.error)}</Notice>
          <Button look="main" onClick={() => void navigate('/', { replace: true })}>
            Sign in with a key
          </Button>
        </>
      ) : (
        <Waiting lines={2} />
      )}
    </SignInFrame>
  )
}
