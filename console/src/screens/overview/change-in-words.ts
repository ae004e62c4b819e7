import { readSignedMicro } from '../../text/amounts.ts'

/** How much more or less than before, as a sentence; empty if there is nothing to compare with. */
export function changeInWords(spent: string, before: string): string {
  const [spentMicro, beforeMicro] = [readSignedMicro(spent), readSignedMicro(before)]
  if (beforeMicro <= 0n) return ''
  if (spentMicro === beforeMicro) return 'As much as before.'
  const difference = spentMicro - beforeMicro
  const size = difference < 0n ? -difference : difference
  const percent = (size * 100n + beforeMicro / 2n) / beforeMicro
  const amount = percent === 0n ? 'Less than 1%' : `${percent.toLocaleString('en')}%`
  return `${amount} ${difference > 0n ? 'more' : 'less'} than before.`
}
