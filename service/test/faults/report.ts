import { callText, jsonOf } from './call-text.ts'
import type { Answer, Call, Evidence } from './history.ts'
import type { RunReport } from './run.ts'

/** Max printed complaints of one kind, and max printed log lines; the first ones are the most useful. */
const shownOfKind = 3
const shownBugs = 5
/** Max printed lines of evidence for a complaint. */
const shownEvidence = 20
const shownCharacters = 1_000

/** The description and the results of a run, as tables. */
export function printReport(report: RunReport): string {
  const { faults, missing, traceless, clashes, transactions, evidence, complaints, bugs } = report
  const { calls, content } = evidence
  const lines = [
    ...table('Faults', inOrder(faults), sumOf([...faults.values()])),
    ...missing.map((reason) => `  not made here: ${reason}`),
    ...traceless.map((kind) => `  left no trace: ${kind}`),
    ...table(`Of ${transactions} transactions were made to clash`, Object.entries(clashes)),
    ...table('Requests', inOrder(countBy(calls, outcomeOf)), calls.length),
    ...table('Retries', Object.entries(countRetries(calls))),
    ...table('In the ledger', inOrder(countBy(content.holds, ({ status }) => `proofs ${status}`))),
    ...bugs.slice(0, shownBugs).map((bug) => bug.slice(0, shownCharacters)),
  ]
  if (complaints.length === 0) return [...lines, '', 'The checker has nothing to say.'].join('\n')
  const kinds = Map.groupBy(complaints, ({ kind }) => kind)
  const shown = [...kinds.values()].flatMap((ofKind) => ofKind.slice(0, shownOfKind))
  return [
    ...lines,
    ...table(
      'Complaints of the checker',
      inOrder(countBy(complaints, ({ kind }) => kind)),
      complaints.length,
    ),
    ...shown.flatMap(({ kind, subject, text }) => [
      `  ${kind}: ${subject}: ${text}`,
      ...evidenceOf(subject, evidence).map((line) => `    ${line.slice(0, shownCharacters)}`),
    ]),
  ].join('\n')
}

/** What the ledger has about the subject of a complaint, and what clients requested. */
function evidenceOf(subject: string, { calls, content }: Evidence): string[] {
  return [...[...content.holds, ...content.transactions].map(jsonOf), ...calls.map(callText)]
    .filter((line) => line.includes(subject))
    .slice(0, shownEvidence)
}

/** Requests that were retried for lack of an answer, and their outcomes. */
function countRetries(calls: readonly Call[]): Record<string, number> {
  const verifications = calls.filter(({ request }) => request.act === 'verify')
  const attempts = Map.groupBy(verifications, ({ keyId, request }) =>
    request.act === 'verify' ? `${keyId} ${request.nonce} ${request.idempotencyKey}` : '',
  )
  const counts = {
    'verifications asked again': 0,
    'had been paid already': 0,
    'paid by a retry': 0,
    refused: 0,
  }
  for (const tries of attempts.values()) {
    const first = tries[0]?.answer.is
    const last = tries.at(-1)?.answer
    if ((first !== 'unknown' && first !== 'unavailable') || !last) continue
    counts['verifications asked again']++
    if (last.is !== 'verified') counts.refused++
    else if (last.isReplay) counts['had been paid already']++
    else counts['paid by a retry']++
  }
  return counts
}

function outcomeOf({ request, answer }: Call): string {
  return `${request.act}: ${wordOf(answer)}`
}

function wordOf(answer: Answer): string {
  if (answer.is === 'denied') return answer.code
  if (answer.is === 'failed') return answer.reason
  if (answer.is === 'verified' && answer.isReplay) return 'verified (replay)'
  if (answer.is === 'unavailable') return 'unavailable (503)'
  return answer.is === 'unknown' ? 'no answer' : answer.is
}

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1)
  return counts
}

function inOrder(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([left], [right]) => left.localeCompare(right))
}

function table(title: string, rows: readonly (readonly [string, number])[], sum?: number): string[] {
  const all = sum === undefined ? rows : [...rows, ['together', sum] as const]
  return ['', title, ...all.map(([name, count]) => `  ${name.padEnd(44)}${String(count).padStart(8)}`)]
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}
