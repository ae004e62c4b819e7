/** The strokes of each icon, on a 24-pixel grid. */
const strokes = {
  overview: 'M4 13h6V4H4zM14 20h6V10h-6zM4 20h6v-3H4zM14 6h6V4h-6z',
  mandate: 'M6 3h9l4 4v14H6zM14 3v5h5M9 13h7M9 17h5',
  transaction: 'M4 8h14M14 4l4 4-4 4M20 16H6M10 12l-4 4 4 4',
  refund: 'M9 7L4 12l5 5M4 12h10a5 5 0 0 1 5 5v2',
  approval: 'M4 4h16v16H4zM8 12.5l3 3 5.5-6.5',
  agent: 'M6 9h12v10H6zM12 9V5M10 5h4M9.5 13.5v1M14.5 13.5v1M3 13v3M21 13v3',
  seller: 'M4 10v10h16V10M3 10l2-6h14l2 6zM10 20v-5h4v5',
  key: 'M15 9.5a5 5 0 1 0-4.6 5L12 16h2v2h2v2h4v-3l-5.4-5.4a5 5 0 0 0 .4-2.1zM8.5 8h.01',
  session: 'M4 5h16v11H4zM8 20h8M12 16v4',
  audit: 'M5 4h14v16H5zM9 8h6M9 12h6M9 16h3',
  developer: 'M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14',
  system: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM20 20l-4.8-4.8',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M19 5l-1.4 1.4M6.4 17.6L5 19',
  moon: 'M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  cross: 'M7 7l10 10M17 7L7 17',
  skipped: 'M6 12h12',
  stop: 'M8 3h8l5 5v8l-5 5H8l-5-5V8zM9 9l6 6M15 9l-6 6',
  pause: 'M9 5v14M15 5v14',
  play: 'M7 5l12 7-12 7z',
  edit: 'M4 20h4L19.5 8.5l-4-4L4 16zM13 7l4 4',
  budget: 'M12 3v6M5 15h4v6H5zM15 15h4v6h-4zM7 15v-3h10v3M9 3h6v6H9z',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  plus: 'M12 5v14M5 12h14',
  more: 'M4.5 12a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0zM11.5 12a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0zM18.5 12a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0z',
  warning: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3 2',
  hold: 'M7 4h10M7 20h10M8 4c0 5 8 6 8 16M16 4c0 5-8 6-8 16',
  signOut: 'M10 4H5v16h5M14 8l4 4-4 4M18 12H9',
  outside: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  live: 'M12 13a1 1 0 1 0 0-2 1 1 0 0 0 0 2zM7.8 16.2a6 6 0 0 1 0-8.4M16.2 7.8a6 6 0 0 1 0 8.4M5 19A10 10 0 0 1 5 5M19 5a10 10 0 0 1 0 14',
} as const

export type IconName = keyof typeof strokes

/** A decorative icon next to text, hidden from screen readers. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={strokes[name]} />
    </svg>
  )
}
