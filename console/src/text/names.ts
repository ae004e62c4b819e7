/** Whether a name can be typed as it reads: a line of at most forty letters, without spaces that nobody sees. */
export function isTypedEasily(name: string): boolean {
  return name !== '' && name.length <= 40 && name === name.trim().replace(/\s+/g, ' ')
}
