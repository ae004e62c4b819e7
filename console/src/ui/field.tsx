import { useId, type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes } from 'react'

import './field.css'

interface FieldWords {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
}

type Typed<Element> = Omit<Element, 'value' | 'onChange'> & {
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A line of text with its label, a hint, and what is wrong with it. */
export function TextField({
  label,
  hint,
  error,
  value,
  onChange,
  ...rest
}: FieldWords & Typed<InputHTMLAttributes<HTMLInputElement>>) {
  const { id, described, words } = useWords(hint, error)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        aria-describedby={described}
        aria-invalid={error ? true : undefined}
        {...rest}
      />
      {words}
    </div>
  )
}

/** Several lines of text. */
export function TextArea({
  label,
  hint,
  error,
  value,
  onChange,
  ...rest
}: FieldWords & Typed<TextareaHTMLAttributes<HTMLTextAreaElement>>) {
  const { id, described, words } = useWords(hint, error)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        aria-describedby={described}
        aria-invalid={error ? true : undefined}
        {...rest}
      />
      {words}
    </div>
  )
}

/** One of several; the browser's own, which every phone and screen reader knows. */
export function SelectField({
  label,
  hint,
  error,
  value,
  onChange,
  options,
  isCompact = false,
  ...rest
}: FieldWords & {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly options: readonly { readonly value: string; readonly text: string }[]
  /** Whether the label is only read aloud: in a row of filters. */
  readonly isCompact?: boolean
  readonly required?: boolean
}) {
  const { id, described, words } = useWords(hint, error)
  return (
    <div className="field">
      <label htmlFor={id} className={isCompact ? 'only-read-aloud' : undefined}>
        {label}
      </label>
      <select
        id={id}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        aria-describedby={described}
        aria-invalid={error ? true : undefined}
        {...rest}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
      {words}
    </div>
  )
}

function useWords(hint: ReactNode, error: string | undefined) {
  const id = useId()
  const hintId = hint ? `${id}-hint` : undefined
  const errorId = error ? `${id}-error` : undefined
  return {
    id,
    described: [hintId, errorId].filter((one) => one).join(' ') || undefined,
    words: (
      <>
        {hint && (
          <p id={hintId} className="field-hint">
            {hint}
          </p>
        )}
        {error && (
          <p id={errorId} className="field-error">
            {error}
          </p>
        )}
      </>
    ),
  }
}
