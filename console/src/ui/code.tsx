import { useEffect, useState } from 'react'

import { Button } from './button.tsx'
import './code.css'

/** A text to be copied: a command, a file. */
export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <figure className="code-block">
      <figcaption>
        {label}
        <CopyButton text={text} label={`Copy: ${label}`} />
      </figcaption>
      <pre tabIndex={0} aria-label={label}>
        <code>{text}</code>
      </pre>
    </figure>
  )
}

/** An identifier that nobody reads to its end: shown whole, small, and copied at a press. */
export function Identifier({ id }: { readonly id: string }) {
  return <code className="identifier">{id}</code>
}

/** Copies a text and says so. */
function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), 2_000)
    return () => clearTimeout(timer)
  }, [isCopied])
  return (
    <Button
      look="bare"
      icon={isCopied ? 'check' : 'copy'}
      aria-label={label}
      onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
    >
      <span aria-live="polite">{isCopied ? 'Copied' : 'Copy'}</span>
    </Button>
  )
}
