import { Dialog } from '@base-ui/react/dialog'
import { useEffect, useRef, useState } from 'react'
import { NavLink, Outlet, useLocation } from 'react-router'

import { useConnection } from '../api/connection.tsx'
import { useSeen } from '../api/seen.tsx'
import { useSignOut } from '../api/session.ts'
import { counted } from '../text/counts.ts'
import { IssuedKeys } from '../screens/keys/issued-keys.tsx'
import { timeZoneInWords } from '../text/times.ts'
import { BrandMark } from '../ui/brand.tsx'
import { IconButton } from '../ui/button.tsx'
import { Icon } from '../ui/icon.tsx'
import { Banners } from './banners.tsx'
import { Boundary } from './boundary.tsx'
import { CommandPalette } from './command-palette.tsx'
import { EnvironmentStrip } from './environment-strip.tsx'
import './frame.css'
import { usePath } from './go.tsx'
import { useShortcuts } from './keyboard.ts'
import { placesFor } from './navigation.ts'
import { useTheme } from './theme.ts'

/** The frame of every screen: environment, navigation, search, theme, sign-out. */
export function Frame() {
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  const [isMenuOpen, setMenuOpen] = useState(false)
  const { pathname } = useLocation()
  const main = useRef<HTMLElement>(null)
  useShortcuts(() => setPaletteOpen(true))
  useFocusOnArrival(main, pathname)

  return (
    <div className="frame">
      <a className="skip-link" href="#content">
        Skip to the content
      </a>
      <div className="frame-top">
        <EnvironmentStrip />
        <Banners />
      </div>
      <header className="top-bar">
        <span className="menu-button">
          <IconButton label="Menu" icon="menu" onClick={() => setMenuOpen(true)} />
          <PendingApprovals />
        </span>
        <Brand />
        <IconButton label="Search" icon="search" onClick={() => setPaletteOpen(true)} />
      </header>
      <div className="frame-body">
        <header className="sidebar">
          <Brand />
          <SidebarBody onSearch={() => setPaletteOpen(true)} />
        </header>
        <main id="content" ref={main} tabIndex={-1}>
          <Boundary key={pathname}>
            <Outlet />
          </Boundary>
          <p className="time-zone quiet small">{`Times are in ${timeZoneInWords(Date.now())}.`}</p>
        </main>
      </div>
      <Dialog.Root open={isMenuOpen} onOpenChange={setMenuOpen}>
        <Dialog.Portal>
          <Dialog.Backdrop className="dialog-veil" />
          <Dialog.Popup className="drawer" aria-label="Menu">
            <div className="row spread">
              <Brand />
              <IconButton label="Close" icon="close" onClick={() => setMenuOpen(false)} />
            </div>
            <SidebarBody
              onGo={() => setMenuOpen(false)}
              onSearch={() => {
                setMenuOpen(false)
                setPaletteOpen(true)
              }}
            />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
      <IssuedKeys />
      <CommandPalette isOpen={isPaletteOpen} onClose={() => setPaletteOpen(false)} />
    </div>
  )
}

function Brand() {
  return (
    <span className="brand">
      <BrandMark size={22} />
      Purser
    </span>
  )
}

function SidebarBody({ onGo, onSearch }: { readonly onGo?: () => void; readonly onSearch: () => void }) {
  const { session, environment } = useSeen()
  const path = usePath()
  const signOut = useSignOut(session, environment)
  const [theme, chooseTheme] = useTheme()
  const otherTheme = theme === 'dark' ? 'light' : 'dark'
  return (
    <>
      <button type="button" className="search-button" onClick={onSearch}>
        <Icon name="search" />
        <span>Search</span>
        <kbd>/</kbd>
      </button>
      <nav aria-label="Screens">
        <ul className="places">
          {placesFor(session.role).map((place) => (
            <li key={place.path}>
              <NavLink to={path(place.path)} end={place.path === ''} className="place" onClick={onGo}>
                <Icon name={place.icon} size={18} />
                {place.name}
                {place.path === 'approvals' && <PendingApprovals />}
              </NavLink>
            </li>
          ))}
        </ul>
      </nav>
      <div className="sidebar-foot">
        <div className="who">
          <strong className="breakable">{session.account.name}</strong>
          <span className="quiet small">{session.role}</span>
        </div>
        <IconButton
          label={`Switch to the ${otherTheme} theme`}
          icon={theme === 'dark' ? 'sun' : 'moon'}
          onClick={() => chooseTheme(otherTheme)}
        />
        <IconButton label="Sign out" icon="signOut" onClick={() => signOut.mutate()} />
      </div>
    </>
  )
}

/** How many approvals wait; nothing if none does. */
function PendingApprovals() {
  const { pendingApprovals } = useConnection()
  if (pendingApprovals === 0) return null
  return (
    <span className="place-count">
      <span aria-hidden="true">{pendingApprovals > 99 ? '99+' : pendingApprovals}</span>
      <span className="only-read-aloud">{` (${counted(pendingApprovals, 'approval')} waiting)`}</span>
    </span>
  )
}

/** Moves focus and scroll position to the top after navigation. */
function useFocusOnArrival(main: { readonly current: HTMLElement | null }, pathname: string): void {
  const before = useRef(pathname)
  useEffect(() => {
    if (before.current === pathname) return
    before.current = pathname
    scrollTo(0, 0)
    main.current?.focus({ preventScroll: true })
  }, [main, pathname])
}
