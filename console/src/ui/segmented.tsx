import { useId } from 'react'

import './segmented.css'

/** A choice of few options, all visible: a radio group that looks like one control. */
export function Segmented<Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string
  readonly value: Value
  readonly options: readonly { readonly value: Value; readonly text: string }[]
  readonly onChange: (value: Value) => void
}) {
  const name = useId()
  return (
    <fieldset className="segmented">
      <legend className="only-read-aloud">{label}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span>{option.text}</span>
        </label>
      ))}
    </fieldset>
  )
}
