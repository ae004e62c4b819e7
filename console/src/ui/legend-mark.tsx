import './legend-mark.css'

/** The colour of a chart series, next to its label. */
export function LegendMark({ of }: { readonly of: 'paid' | 'denied' | 'held' | 'limit' }) {
  return <span className={`legend-mark ${of}`} />
}
