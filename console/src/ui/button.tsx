import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Link } from 'react-router'

import './button.css'
import { Icon, type IconName } from './icon.tsx'

/** `grave` opens a confirmation; `danger` performs the action. */
type Look = 'plain' | 'main' | 'grave' | 'danger' | 'bare'

interface Common {
  readonly look?: Look
  readonly icon?: IconName
  readonly children: ReactNode
}

/**
 * A button; `look` sets its emphasis. It does not submit forms by default. The second click of a double click does
 * nothing: what the first one did may have brought another button under the pointer.
 */
export function Button({
  look = 'plain',
  icon,
  children,
  className = '',
  onClick,
  ...rest
}: Common & ButtonHTMLAttributes<HTMLButtonElement>) {
  return (
    <button
      type="button"
      className={`button ${look} ${className}`}
      {...rest}
      onClick={(event) => (event.detail > 1 ? event.preventDefault() : onClick?.(event))}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** An icon button; the label is read aloud and shown on hover. */
export function IconButton({
  label,
  icon,
  ...rest
}: { readonly label: string; readonly icon: IconName } & ButtonHTMLAttributes<HTMLButtonElement>) {
  return (
    <button type="button" className="button bare square" aria-label={label} title={label} {...rest}>
      <Icon name={icon} size={18} />
    </button>
  )
}

/** A link that looks like a button. */
export function ButtonLink({ to, look = 'plain', icon, children }: Common & { readonly to: string }) {
  return (
    <Link to={to} className={`button ${look}`}>
      {icon && <Icon name={icon} />}
      {children}
    </Link>
  )
}
