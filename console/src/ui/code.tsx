import { useEffect, useState } from 'react'

import { Button, IconButton } from './button.tsx'
import './code.css'
import { sayFailed } from './toast.tsx'

/** Text to copy: a command, a file. */
export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  const { isCopied, copy } = useCopy(text)
  return (
    <figure className="code-block">
      <figcaption>
        {label}
        {canCopy && (
          <Button look="bare" icon={isCopied ? 'check' : 'copy'} aria-label={`Copy: ${label}`} onClick={copy}>
            <span aria-live="polite">{isCopied ? 'Copied' : 'Copy'}</span>
          </Button>
        )}
      </figcaption>
      <pre tabIndex={0} aria-label={label}>
        <code>{text}</code>
      </pre>
    </figure>
  )
}

/** An identifier, shown complete but small. */
export function Identifier({ id }: { readonly id: string }) {
  return <code className="identifier">{id}</code>
}

/** An identifier with a copy button. */
export function CopyableIdentifier({ id }: { readonly id: string }) {
  const { isCopied, copy } = useCopy(id)
  return (
    <span className="copyable">
      <Identifier id={id} />
      {canCopy && <IconButton label="Copy" icon={isCopied ? 'check' : 'copy'} onClick={copy} />}
      <span className="only-read-aloud" role="status">
        {isCopied && 'Copied'}
      </span>
    </span>
  )
}

/** Browsers allow clipboard access only on https pages and on this machine. */
const canCopy = 'clipboard' in navigator

/** Copies text, and confirms it for two seconds. */
function useCopy(text: string) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), 2_000)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = () =>
    void navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => sayFailed('Not copied: the browser does not allow it. Select the text and copy it by hand.'),
    )
  return { isCopied, copy }
}
