import type { ReactNode } from 'react'

import { BrandMark } from '../../ui/brand.tsx'
import './sign-in.css'

/** The frame of all screens without a session. */
export function SignInFrame({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <main className="sign-in">
      <title>{title}</title>
      <div className="sign-in-card">
        <BrandMark size={40} />
        <div>
          <h1>{title}</h1>
          <p className="quiet">See where your agents spend money, and stop them.</p>
        </div>
        {children}
      </div>
    </main>
  )
}
