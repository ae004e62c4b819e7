import './budget-bar.css'

/** A bar that shows how full a limit is. The figures stand next to it as text. */
export function FillBar({
  label,
  text,
  fill,
}: {
  readonly label: string
  /** What it says in words. */
  readonly text: string
  /** 0 to 1. */
  readonly fill: number
}) {
  const fullness = fill >= 0.95 ? 'full' : fill >= 0.8 ? 'high' : 'easy'
  return (
    <svg
      className={`budget-bar ${fullness}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(fill * 100)}
      aria-valuetext={text}
    >
      <rect className="budget-whole" width="100%" height="100%" />
      <rect className="budget-spent" width={`${fill * 100}%`} height="100%" />
    </svg>
  )
}
