import { useEffect, useRef } from 'react'
import { Navigate, useNavigate } from 'react-router'

import { explainFailure } from '../../api/failures.ts'
import { useSignIn } from '../../api/session.ts'
import { Button } from '../../ui/button.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Waiting } from '../../ui/waiting.tsx'
import { SignInFrame } from './sign-in-frame.tsx'

/** The set-up link of a first start: its token stands behind the `#`, is used once, and leaves the address at once. */
export function SetUp() {
  const signIn = useSignIn()
  const navigate = useNavigate()
  const token = useRef(location.hash.slice(1))
  const begin = signIn.mutate
  useEffect(() => {
    if (token.current === '') return
    const setUpToken = token.current
    token.current = ''
    history.replaceState(history.state, '', location.pathname)
    begin({ set_up_token: setUpToken })
  }, [begin])
  if (signIn.isSuccess || (signIn.isIdle && token.current === '')) return <Navigate to="/" replace />
  return (
    <SignInFrame title="Set up">
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
