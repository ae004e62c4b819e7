import type { AccountSession } from '@purser/client'

import { useReadPages } from '../../api/queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Identifier } from '../../ui/code.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { Menu, MenuItem } from '../../ui/menu.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { RealWhen } from '../../ui/when.tsx'
import { useKeyNames } from '../keys/key-names.ts'
import { ListScreen } from '../list-screen.tsx'
import { OwnersOnly } from '../owners-only.tsx'
import { EndOthers } from './end-others.tsx'
import { useEndSession } from './end-session.ts'

/** The list of console sessions of this account, with a way to end them. */
export function Sessions() {
  const keyNames = useKeyNames()
  const query = useReadPages('sessions', (purser, cursor, signal) =>
    purser.sessions.list(cursor ? { cursor } : {}, { signal }).page(),
  )
  const known = query.data?.pages.flatMap(({ items }) => items)
  const hasOthers = known?.some(({ is_current }) => !is_current) ?? false
  return (
    <ListScreen
      title="Sessions"
      lead="Who is signed in to the console as this account, in both environments. IP addresses and browsers are not recorded, because a thief of the cookie could fake both."
      actions={
        <OwnersOnly>
          <EndOthers hasOthers={hasOthers} />
        </OwnersOnly>
      }
      noun="session"
      query={query}
      columns={columnsFor(keyNames)}
      empty={
        <EmptyState icon="session" title="Nobody is signed in">
          Signing in to the console starts a session.
        </EmptyState>
      }
    />
  )
}

function columnsFor(keyNames: ReadonlyMap<string, string>): readonly Column<AccountSession>[] {
  return [
    {
      title: 'Signed in by',
      isName: true,
      cell: (session) => (
        <>
          <span className="row">
            <strong className="two-lines">{waysIn[session.kind](nameOfItsKey(session, keyNames))}</strong>
            {session.is_current && <Badge tone="good">This session</Badge>}
          </span>
          <div className="cell-sub">
            <Identifier id={session.id} />
          </div>
        </>
      ),
    },
    { title: 'Role', cell: ({ role }) => role },
    {
      title: 'Environments',
      cell: ({ environments }) => (
        <span className="row">
          {environments.map((one) => (
            <Badge key={one} tone={one === 'sandbox' ? 'warn' : 'accent'}>
              {one}
            </Badge>
          ))}
        </span>
      ),
    },
    { title: 'Since', cell: ({ created_at }) => <RealWhen at={created_at} /> },
    { title: 'Last used', cell: ({ used_at }) => <RealWhen at={used_at} /> },
    { title: 'Ends if unused', isMinor: true, cell: ({ expires_at }) => <RealWhen at={expires_at} /> },
    {
      title: 'Actions',
      isActions: true,
      cell: (session) =>
        !session.is_current && (
          <OwnersOnly>
            <SessionMenu session={session} keyNames={keyNames} />
          </OwnersOnly>
        ),
    },
  ]
}

/** How a session was started, for display. */
const waysIn: Record<AccountSession['kind'], (keyName: string) => string> = {
  key: (keyName) => `Key: ${keyName}`,
  set_up: () => 'Set-up link',
  oidc: () => 'Identity provider',
}

function nameOfItsKey({ key_id }: AccountSession, keyNames: ReadonlyMap<string, string>): string {
  return (key_id === null ? undefined : keyNames.get(key_id)) ?? key_id ?? 'unknown'
}

/** Ending a session loses nothing, because the user can sign in again: so there is no confirmation. */
function SessionMenu({
  session,
  keyNames,
}: {
  readonly session: AccountSession
  readonly keyNames: ReadonlyMap<string, string>
}) {
  const end = useEndSession()
  const way = waysIn[session.kind](nameOfItsKey(session, keyNames))
  return (
    <Menu label={`Actions for the session by ${way.charAt(0).toLowerCase()}${way.slice(1)}`}>
      <MenuItem icon="signOut" isDangerous onClick={() => end.mutate(session.id)}>
        End session
      </MenuItem>
    </Menu>
  )
}
