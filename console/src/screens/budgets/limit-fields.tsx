import { useId } from 'react'

import { limitInWords } from '../../text/limits.ts'
import { Button } from '../../ui/button.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import {
  emptyLimit,
  limitFaults,
  newLimitOf,
  weekDays,
  type LengthUnit,
  type LimitDraft,
  type LimitFaults,
  type LimitKind,
  type WeekDay,
} from './limit-draft.ts'
import './limit-fields.css'

const kinds = [
  { value: 'day', text: 'Each day' },
  { value: 'week', text: 'Each week' },
  { value: 'month', text: 'Each month' },
  { value: 'year', text: 'Each year' },
  { value: 'rolling', text: 'In any stretch of time' },
  { value: 'lifetime', text: 'In all its lifetime' },
] as const satisfies readonly { readonly value: LimitKind; readonly text: string }[]

const actions = [
  { value: 'deny', text: 'Deny the payment' },
  { value: 'require_approval', text: 'Ask a person' },
  { value: 'notify', text: 'Approve it, and record an event' },
] as const satisfies readonly { readonly value: LimitDraft['action']; readonly text: string }[]

const subjects = [
  { value: '', text: 'All payments together' },
  { value: 'seller', text: 'Each seller apart' },
  { value: 'resource', text: 'Each URL apart' },
] as const satisfies readonly { readonly value: LimitDraft['per']; readonly text: string }[]

const days = weekDays.map((value) => ({ value, text: value.charAt(0).toUpperCase() + value.slice(1) }))

const units = [
  { value: 'minutes', text: 'Minutes' },
  { value: 'hours', text: 'Hours' },
  { value: 'days', text: 'Days' },
] as const satisfies readonly { readonly value: LengthUnit; readonly text: string }[]

/** Max limits of a mandate or a budget. */
const maxLimits = 10

/** The limits over time of a form: each can be changed or removed, and one can be added. */
export function LimitFields({
  limits,
  onChange,
  maySplit,
  showsFaults,
  refused,
}: {
  readonly limits: readonly LimitDraft[]
  readonly onChange: (limits: readonly LimitDraft[]) => void
  /** Whether a limit may count separately for each seller or URL: not those of shared budgets. */
  readonly maySplit: boolean
  /** Whether to show what is missing: after an attempt to save. */
  readonly showsFaults: boolean
  /** What the service says about them. */
  readonly refused: Readonly<Record<number, LimitFaults>>
}) {
  const set = (index: number, changes: Partial<LimitDraft>) =>
    onChange(limits.map((limit, at) => (at === index ? { ...limit, ...changes } : limit)))
  const zones = useId()
  return (
    <div className="stack">
      {limits.map((limit, index) => (
        <fieldset key={index} className="limit-fields">
          <legend>Limit {index + 1}</legend>
          <OneLimit
            {...{ limit, maySplit, zones }}
            faults={{ ...(showsFaults ? limitFaults(limit) : {}), ...refused[index] }}
            set={(changes) => set(index, changes)}
          />
          <div className="limit-fields-foot">
            <p className="quiet small" aria-live="polite">
              {Object.keys(limitFaults(limit)).length === 0 && sentence(limit)}
            </p>
            <Button
              look="bare"
              icon="close"
              aria-label={`Remove limit ${index + 1}`}
              onClick={() => onChange(limits.filter((_, at) => at !== index))}
            >
              Remove
            </Button>
          </div>
        </fieldset>
      ))}
      <TimeZones id={zones} />
      {limits.length < maxLimits && (
        <div>
          <Button icon="plus" onClick={() => onChange([...limits, emptyLimit()])}>
            Add a limit over time
          </Button>
        </div>
      )}
    </div>
  )
}

function OneLimit({
  limit,
  faults,
  set,
  maySplit,
  zones,
}: {
  readonly limit: LimitDraft
  readonly faults: LimitFaults
  readonly set: (changes: Partial<LimitDraft>) => void
  readonly maySplit: boolean
  readonly zones: string
}) {
  const { kind } = limit
  const isCalendar = kind !== 'rolling' && kind !== 'lifetime'
  return (
    <>
      <div className="form-pair">
        <SelectField
          label="Period"
          value={kind}
          onChange={(value) => set({ kind: value as LimitKind })}
          options={kinds}
          error={kind === 'lifetime' ? faults.window : undefined}
        />
        {isCalendar && (
          <TextField
            label="Time zone"
            value={limit.timeZone}
            onChange={(timeZone) => set({ timeZone })}
            list={zones}
            spellCheck={false}
            autoComplete="off"
            error={faults.window}
          />
        )}
        {kind === 'week' && (
          <SelectField
            label="Starts on"
            value={limit.weekStart}
            onChange={(weekStart) => set({ weekStart: weekStart as WeekDay })}
            options={days}
          />
        )}
        {kind === 'month' && (
          <TextField
            label="Starts on day"
            inputMode="numeric"
            value={limit.dayOfMonth}
            onChange={(dayOfMonth) => set({ dayOfMonth })}
            hint="In shorter months, the last day."
          />
        )}
        {kind === 'rolling' && (
          <>
            <TextField
              label="Length"
              inputMode="numeric"
              value={limit.length}
              onChange={(length) => set({ length })}
              error={faults.window}
            />
            <SelectField
              label="Unit"
              value={limit.lengthUnit}
              onChange={(lengthUnit) => set({ lengthUnit: lengthUnit as LengthUnit })}
              options={units}
            />
          </>
        )}
      </div>
      <div className="form-pair">
        <TextField
          label="Max amount (USDC)"
          inputMode="decimal"
          value={limit.amount}
          onChange={(amount) => set({ amount })}
          error={faults.amount}
        />
        <TextField
          label="Max payments"
          inputMode="numeric"
          value={limit.count}
          onChange={(count) => set({ count })}
          error={faults.count}
        />
      </div>
      <div className="form-pair">
        {maySplit && (
          <SelectField
            label="Counts"
            value={limit.per}
            onChange={(per) => set({ per: per as LimitDraft['per'] })}
            options={subjects}
          />
        )}
        <SelectField
          label="If a payment does not fit"
          value={limit.action}
          onChange={(action) => set({ action: action as LimitDraft['action'] })}
          options={actions}
        />
      </div>
    </>
  )
}

function sentence(limit: LimitDraft): string {
  const words = limitInWords(newLimitOf(limit))
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`
}

/** Time zones that the browser knows, to choose from. */
function TimeZones({ id }: { readonly id: string }) {
  return (
    <datalist id={id}>
      {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
        <option key={zone} value={zone} />
      ))}
    </datalist>
  )
}
