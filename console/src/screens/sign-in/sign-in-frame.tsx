import type { ReactNode } from 'react'

import './sign-in.css'

/** What stands around everything that is shown before there is a session. */
export function SignInFrame({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <main className="sign-in">
      <title>{title}</title>
      <div className="sign-in-card">
        <svg width="40" height="40" viewBox="0 0 32 32" aria-hidden="true">
          <rect className="brand-ground" width="32" height="32" rx="7" />
          <path className="brand-letter" d="M11 25V8h6.5a5.25 5.25 0 0 1 0 10.5H11" />
        </svg>
        <div>
          <h1>{title}</h1>
          <p className="quiet">See where the money of your agents goes, and stop it.</p>
        </div>
        {children}
      </div>
    </main>
  )
}
