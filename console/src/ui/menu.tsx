import { Menu as BaseMenu } from '@base-ui/react/menu'
import type { ReactNode } from 'react'

import { Icon, type IconName } from './icon.tsx'
import './menu.css'

/** A three-dot menu; rendered within the content, so that it belongs to a landmark. */
export function Menu({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <BaseMenu.Root>
      <BaseMenu.Trigger className="button bare square" aria-label={label} title={label}>
        <Icon name="more" size={18} />
      </BaseMenu.Trigger>
      <BaseMenu.Portal container={document.getElementById('content')}>
        <BaseMenu.Positioner className="menu-place" align="end" sideOffset={4}>
          <BaseMenu.Popup className="menu">{children}</BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  )
}

export function MenuItem({
  icon,
  onClick,
  isDangerous = false,
  children,
}: {
  readonly icon: IconName
  readonly onClick: () => void
  readonly isDangerous?: boolean
  readonly children: ReactNode
}) {
  return (
    <BaseMenu.Item className={isDangerous ? 'menu-item danger' : 'menu-item'} onClick={onClick}>
      <Icon name={icon} />
      {children}
    </BaseMenu.Item>
  )
}
