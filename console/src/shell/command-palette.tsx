import { Autocomplete } from '@base-ui/react/autocomplete'
import { Dialog } from '@base-ui/react/dialog'
import { useEffect, useRef, useState } from 'react'
import { useNavigate } from 'react-router'

import { explainFailure } from '../api/failures.ts'
import { useRead } from '../api/queries.ts'
import { useSeen } from '../api/seen.tsx'
import { Icon, type IconName } from '../ui/icon.tsx'
import './command-palette.css'
import { usePath } from './go.tsx'
import { placesFor } from './navigation.ts'
import { useTheme } from './theme.ts'
import { useLater } from '../api/later.ts'

interface Command {
  readonly id: string
  readonly text: string
  readonly kind: string
  readonly icon: IconName
  readonly run: () => void
}

/** The command palette: navigation and search. */
export function CommandPalette({
  isOpen,
  onClose,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const [opener, setOpener] = useState<Opener>()
  if (isOpen && !opener) setOpener({ element: document.activeElement, path: location.pathname })
  if (!isOpen && opener) setOpener(undefined)
  const last = useRef<Opener>(undefined)
  useEffect(() => {
    if (opener) last.current = opener
  }, [opener])
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="dialog-veil" />
        <Dialog.Popup
          className="palette"
          aria-label="Search and commands"
          finalFocus={() => focusAfter(last.current)}
        >
          <PaletteBody onClose={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** The element that had the focus when the palette opened. */
interface Opener {
  readonly element: Element | null
  readonly path: string
}

/** Restores the focus; on another screen, or if the element is gone, focuses the content. */
function focusAfter(opener: Opener | undefined): HTMLElement | null {
  const { element, path } = opener ?? {}
  const isThere = element instanceof HTMLElement && element.isConnected && element !== document.body
  return isThere && path === location.pathname ? element : document.getElementById('content')
}

function PaletteBody({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const { found, state } = useFound(text.trim())
  const commands = useCommands(onClose).filter(({ text: words }) => matches(words, text))
  const items = [...commands, ...found.map((one) => ({ ...one, run: closing(onClose, one.run) }))]
  return (
    <Autocomplete.Root
      items={items}
      mode="none"
      inline
      open
      autoHighlight="always"
      keepHighlight
      value={text}
      onValueChange={(value, { reason }) => reason !== 'item-press' && setText(value)}
      itemToStringValue={(command: Command) => command.text}
    >
      <div className="palette-head">
        <Icon name="search" size={18} />
        {/* Focused on mount, so that no keystroke is lost. */}
        <Autocomplete.Input
          autoFocus
          className="palette-input"
          aria-label="Search and commands"
          placeholder="Go to a screen, or find by name, purpose, domain or id"
        />
        <kbd>Esc</kbd>
      </div>
      <Autocomplete.Empty className="palette-empty">{state}</Autocomplete.Empty>
      <Autocomplete.List className="palette-list">
        {(command: Command) => (
          <Autocomplete.Item key={command.id} value={command} className="palette-item" onClick={command.run}>
            <Icon name={command.icon} size={18} />
            <span className="palette-text">{command.text}</span>
            <span className="quiet small">{command.kind}</span>
          </Autocomplete.Item>
        )}
      </Autocomplete.List>
    </Autocomplete.Root>
  )
}

function matches(words: string, typed: string): boolean {
  return typed
    .trim()
    .toLowerCase()
    .split(/\s+/)
    .every((part) => words.toLowerCase().includes(part))
}

function closing(onClose: () => void, run: () => void): () => void {
  return () => {
    onClose()
    run()
  }
}

function useCommands(onClose: () => void): Command[] {
  const { session } = useSeen()
  const path = usePath()
  const navigate = useNavigate()
  const [theme, chooseTheme] = useTheme()
  const otherTheme = theme === 'dark' ? 'light' : 'dark'
  const goTo = (address: string) => closing(onClose, () => void navigate(address))
  const ownerActions: Command[] = [
    { id: 'new-mandate', text: 'New mandate', kind: 'Action', icon: 'plus', run: goTo(path('mandates/new')) },
    { id: 'new-agent', text: 'New agent', kind: 'Action', icon: 'plus', run: goTo(path('agents?new')) },
    { id: 'new-key', text: 'New key', kind: 'Action', icon: 'plus', run: goTo(path('keys?new')) },
    { id: 'stop', text: 'Stop all agents', kind: 'Action', icon: 'stop', run: goTo(`${path('')}?stop`) },
  ]
  return [
    ...placesFor(session.role).map(({ path: to, name, icon }) => ({
      id: `go-${to}`,
      text: name,
      kind: 'Screen',
      icon,
      run: goTo(path(to)),
    })),
    ...(session.role === 'approver' ? [] : ownerActions),
    {
      id: 'theme',
      text: `Switch to the ${otherTheme} theme`,
      kind: 'Action',
      icon: theme === 'dark' ? 'sun' : 'moon',
      run: closing(onClose, () => chooseTheme(otherTheme)),
    },
  ]
}

const kinds = {
  agent: { icon: 'agent', kind: 'Agent', path: 'agents' },
  mandate: { icon: 'mandate', kind: 'Mandate', path: 'mandates' },
  seller: { icon: 'seller', kind: 'Seller', path: 'sellers' },
  transaction: { icon: 'transaction', kind: 'Transaction', path: 'transactions' },
} as const

/** Debounce time of the search. */
const restMs = 150

/** What was found for the text that is typed now: Enter must not open a result of an earlier text. */
function useFound(typed: string): { readonly found: readonly Command[]; readonly state: string } {
  const settled = useLater(typed, restMs)
  const path = usePath()
  const navigate = useNavigate()
  const { data, error, isPlaceholderData } = useRead(
    'search',
    (purser, signal) => purser.console.search(settled, { signal }),
    { parameters: [settled], isEnabled: settled !== '' },
  )
  if (typed === '') return { found: [], state: '' }
  if (settled !== typed || isPlaceholderData || !data)
    return { found: [], state: settled === typed && error ? explainFailure(error) : 'Searching…' }
  const found = data.map(({ kind, id, label }) => ({
    id,
    text: label,
    kind: kinds[kind].kind,
    icon: kinds[kind].icon,
    run: () => void navigate(path(kind === 'seller' ? kinds[kind].path : `${kinds[kind].path}/${id}`)),
  }))
  return { found, state: 'No results. The newest 1,000 records of each kind are searched.' }
}
