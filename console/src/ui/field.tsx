import { useId, type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes } from 'react'

import './field.css'

interface FieldWords {
  readonly label: string
  readonly hint?: ReactNode
  /** The validation error. */
  readonly error?: string | undefined
}

/** Accessibility attributes that link a control with its label, hint and error. */
interface Ties {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': true | undefined
}

function Field({
  label,
  hint,
  error,
  children,
}: FieldWords & { readonly children: (ties: Ties) => ReactNode }) {
  const id = useId()
  const hintId = hint ? `${id}-hint` : ''
  const errorId = error ? `${id}-error` : ''
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        'aria-describedby': `${hintId} ${errorId}`.trim() || undefined,
        'aria-invalid': error ? true : undefined,
      })}
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
    </div>
  )
}

type Typed<Attributes> = Omit<Attributes, 'value' | 'onChange'> & {
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A text field. */
export function TextField({
  label,
  hint,
  error,
  onChange,
  ...rest
}: FieldWords & Typed<InputHTMLAttributes<HTMLInputElement>>) {
  return (
    <Field {...{ label, hint, error }}>
      {(ties) => <input {...ties} {...rest} onChange={(event) => onChange(event.target.value)} />}
    </Field>
  )
}

/** A multi-line text field. */
export function TextArea({
  label,
  hint,
  error,
  onChange,
  ...rest
}: FieldWords & Typed<TextareaHTMLAttributes<HTMLTextAreaElement>>) {
  return (
    <Field {...{ label, hint, error }}>
      {(ties) => <textarea rows={2} {...ties} {...rest} onChange={(event) => onChange(event.target.value)} />}
    </Field>
  )
}

/** A native select, which works with every phone and screen reader. */
export function SelectField({
  label,
  hint,
  error,
  value,
  onChange,
  options,
  required,
}: FieldWords & {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly options: readonly { readonly value: string; readonly text: string }[]
  readonly required?: boolean
}) {
  return (
    <Field {...{ label, hint, error }}>
      {(ties) => (
        <select
          {...ties}
          value={value}
          required={required}
          onChange={(event) => onChange(event.target.value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** A checkbox with its label. */
export function CheckField({
  label,
  hint,
  isChecked,
  onChange,
}: Pick<FieldWords, 'label' | 'hint'> & {
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
}) {
  const id = useId()
  return (
    <div className="check-field">
      <input
        id={id}
        type="checkbox"
        checked={isChecked}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.target.checked)}
      />
      <label htmlFor={id}>{label}</label>
      {hint && (
        <p id={`${id}-hint`} className="field-hint">
          {hint}
        </p>
      )}
    </div>
  )
}
