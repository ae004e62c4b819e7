import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { BrowserRouter } from 'react-router'

import { createQueries } from './api/queries.ts'
import { App } from './app.tsx'
import './design/fonts.css'
import './design/tokens.css'
import './design/base.css'
import { Toasts } from './ui/toast.tsx'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root')

createRoot(root).render(
  <StrictMode>
    {/* The Content-Security-Policy allows no style elements; their rules are in our stylesheets. */}
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={createQueries()}>
        <BrowserRouter basename="/console">
          <App />
        </BrowserRouter>
        <Toasts />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
