import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

import { exitCodes, UsageError, type Io } from '../io.ts'
import { readCases, type PolicyCase } from './case-file.ts'
import { startCaseService } from './case-service.ts'
import { runCase, type CaseResult } from './run-case.ts'

/** Runs the cases of files, and reports each; exits with 1 if one fails. */
export async function testPolicies(
  files: readonly string[],
  { json }: { readonly json?: true },
  io: Io,
): Promise<void> {
  // All files are read first: a mistake in the last one should not waste the time of the others.
  const read = files.map((file) => ({ file, cases: readCases(textOf(resolve(io.folder, file), file), file) }))
  const results = await runAll(read)
  const all = results.flatMap(({ cases }) => cases)
  const failed = all.filter(({ isPassed }) => !isPassed).length
  if (json) io.print(JSON.stringify({ files: results.map(asJson), cases: all.length, failed }, null, 2))
  else io.print(inWords(results, all.length, failed))
  if (failed > 0) io.exitWith(exitCodes.failed)
}

function textOf(path: string, file: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

interface FileResult {
  readonly file: string
  readonly cases: readonly CaseResult[]
}

async function runAll(
  files: readonly { readonly file: string; readonly cases: readonly PolicyCase[] }[],
): Promise<FileResult[]> {
  const service = await startCaseService()
  try {
    const results: FileResult[] = []
    for (const { file, cases } of files) {
      const own: CaseResult[] = []
      // One after the other, because they share the clock.
      for (const one of cases) own.push(await runCase(one, service))
      results.push({ file, cases: own })
    }
    return results
  } finally {
    await service.stop()
  }
}

function inWords(results: readonly FileResult[], count: number, failed: number): string {
  const lines = results.flatMap(({ file, cases }) => [file, ...cases.flatMap(linesOf)])
  const sum = `${count} ${count === 1 ? 'case' : 'cases'}, ${failed === 0 ? 'all passed' : `${failed} failed`}`
  return [...lines, sum].join('\n')
}

function linesOf({ name, isPassed, expected, decision, reasonCode, detail }: CaseResult): string[] {
  if (isPassed) return [`  ✔ ${name}`]
  const was = decision === 'approved' ? 'it is approved' : `it is denied: ${reasonCode}`
  return [
    `  ✖ ${name}`,
    decision === null ? `      ${detail}` : `      expected ${expected}, but ${was}`,
    ...(decision === null || detail === null ? [] : [`      ${detail}`]),
  ]
}

function asJson({ file, cases }: FileResult) {
  return {
    file,
    cases: cases.map(({ name, isPassed, expected, decision, reasonCode, detail }) => ({
      name,
      passed: isPassed,
      expected,
      decision,
      reason_code: reasonCode,
      detail,
    })),
  }
}
