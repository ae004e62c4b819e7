import './legend-mark.css'

/** The colour of a drawing, beside the words that it stands for. */
export function LegendMark({ of }: { readonly of: 'paid' | 'denied' | 'held' | 'limit' }) {
  return <span className={`legend-mark ${of}`} />
}
