/** A number of bytes as text, such as `3.4 GB`. */
export function inUnits(bytes: number): string {
  if (bytes >= 1024 ** 3) return `${(bytes / 1024 ** 3).toFixed(1)} GB`
  if (bytes >= 1024 ** 2) return `${Math.floor(bytes / 1024 ** 2).toLocaleString('en-US')} MB`
  return `${Math.ceil(bytes / 1024).toLocaleString('en-US')} kB`
}
