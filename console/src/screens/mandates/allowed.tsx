/** Number of entries shown at first. */
const shownAtOnce = 6

/** Sellers or categories allowed by a mandate. */
export function Allowed({
  entries,
  all,
  none,
}: {
  readonly entries: readonly string[]
  /** Text for `*`. */
  readonly all: string
  /** Text for an empty list. */
  readonly none: string
}) {
  if (entries.length === 0) return none
  if (entries.includes('*')) return all
  const rest = entries.slice(shownAtOnce)
  return (
    <>
      {entries.slice(0, shownAtOnce).join(', ')}
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} more</summary>
          {rest.join(', ')}
        </details>
      )}
    </>
  )
}
