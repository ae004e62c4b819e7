import type { Session } from '@purser/client'
import { Navigate, Route, Routes, useLocation, useParams } from 'react-router'

import { Connected } from './api/connection.tsx'
import { explainFailure } from './api/failures.ts'
import { Seeing } from './api/seen.tsx'
import { useSession } from './api/session.ts'
import { Overview } from './screens/overview/overview.tsx'
import { NotFound } from './screens/not-found.tsx'
import { SignInFrame } from './screens/sign-in/sign-in-frame.tsx'
import { SetUp } from './screens/sign-in/set-up.tsx'
import { SignIn } from './screens/sign-in/sign-in.tsx'
import { lazyScreen } from './shell/boundary.tsx'
import { Frame } from './shell/frame.tsx'
import { placesFor } from './shell/navigation.ts'
import { Notice } from './ui/notice.tsx'

// The overview is part of the first load; other screens are loaded lazily.
const Mandates = lazyScreen(async () => (await import('./screens/mandates/mandates.tsx')).Mandates)
const NewMandate = lazyScreen(async () => (await import('./screens/mandates/new-mandate.tsx')).NewMandate)
const Mandate = lazyScreen(async () => (await import('./screens/mandates/mandate.tsx')).Mandate)
const EditMandate = lazyScreen(async () => (await import('./screens/mandates/edit-mandate.tsx')).EditMandate)
const Transactions = lazyScreen(
  async () => (await import('./screens/transactions/transactions.tsx')).Transactions,
)
const Transaction = lazyScreen(
  async () => (await import('./screens/transactions/transaction.tsx')).Transaction,
)
const Approvals = lazyScreen(async () => (await import('./screens/approvals/approvals.tsx')).Approvals)
const Approval = lazyScreen(async () => (await import('./screens/approvals/approval.tsx')).Approval)
const Budgets = lazyScreen(async () => (await import('./screens/budgets/budgets.tsx')).Budgets)
const Budget = lazyScreen(async () => (await import('./screens/budgets/budget.tsx')).Budget)
const Agents = lazyScreen(async () => (await import('./screens/agents/agents.tsx')).Agents)
const Agent = lazyScreen(async () => (await import('./screens/agents/agent.tsx')).Agent)
const Sellers = lazyScreen(async () => (await import('./screens/sellers/sellers.tsx')).Sellers)
const Keys = lazyScreen(async () => (await import('./screens/keys/keys.tsx')).Keys)
const Sessions = lazyScreen(async () => (await import('./screens/sessions/sessions.tsx')).Sessions)
const AuditLog = lazyScreen(async () => (await import('./screens/audit-log/audit-log.tsx')).AuditLog)
const Developers = lazyScreen(async () => (await import('./screens/developers/developers.tsx')).Developers)
const System = lazyScreen(async () => (await import('./screens/system/system.tsx')).System)

/** All routes of the console. The environment is part of the URL, so that each window has a fixed one. */
export function App() {
  const session = useSession()
  if (session.data === undefined) {
    if (!session.failureReason) return null
    return (
      <SignInFrame title="Purser does not answer">
        <Notice tone="bad">{explainFailure(session.failureReason)} This page tries again by itself.</Notice>
      </SignInFrame>
    )
  }
  return (
    <Routes>
      <Route path="set-up" element={<SetUp />} />
      {session.data ? (
        <>
          <Route index element={<Navigate to={`/${session.data.environments[0]}`} replace />} />
          <Route path=":environment" element={<InEnvironment session={session.data} />}>
            <Route index element={<Overview />} />
            <Route path="approvals" element={<Approvals />} />
            <Route path="approvals/:id" element={<Approval />} />
            <Route path="mandates" element={<Mandates />} />
            <Route
              path="mandates/new"
              element={session.data.role === 'approver' ? <NotFound /> : <NewMandate />}
            />
            <Route path="mandates/:id" element={<Mandate />} />
            <Route path="mandates/:id/edit" element={<EditMandate />} />
            <Route path="budgets" element={<Budgets />} />
            <Route path="budgets/:id" element={<Budget />} />
            <Route path="transactions" element={<Transactions />} />
            <Route path="transactions/:id" element={<Transaction />} />
            <Route path="agents" element={<Agents />} />
            <Route path="agents/:id" element={<Agent />} />
            <Route path="sellers" element={<Sellers />} />
            <Route path="keys" element={<Keys />} />
            <Route path="sessions" element={<Sessions />} />
            <Route path="audit-log" element={<AuditLog />} />
            <Route path="developers" element={<Developers />} />
            {session.data.role === 'operator' && <Route path="system" element={<System />} />}
            <Route path="*" element={<NotFound />} />
          </Route>
        </>
      ) : (
        <Route path="*" element={<SignIn />} />
      )}
    </Routes>
  )
}

/**
 * The environment in the URL, if the session has access to it; else one that it has access to. A URL without
 * an environment redirects to the screen in that environment.
 */
function InEnvironment({ session }: { readonly session: Session }) {
  const { environment } = useParams()
  const { pathname, search } = useLocation()
  const seen = session.environments.find((one) => one === environment)
  if (!seen) {
    const isScreen = placesFor(session.role).some(({ path }) => path === environment)
    return <Navigate to={`/${session.environments[0]}${isScreen ? pathname + search : ''}`} replace />
  }
  return (
    <Seeing key={`${session.id} ${seen}`} session={session} environment={seen}>
      <Connected>
        <Frame />
      </Connected>
    </Seeing>
  )
}
