import './brand.css'

/** The letter P on the brand's background. */
export function BrandMark({ size }: { readonly size: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect className="brand-ground" width="32" height="32" rx="7" />
      <path className="brand-letter" d="M11 25V8h6.5a5.25 5.25 0 0 1 0 10.5H11" />
    </svg>
  )
}
