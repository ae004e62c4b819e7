import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

import { UsageError, type Io } from '../io.ts'
import { readCases } from './case-file.ts'
import { testPolicies } from './test-policies.ts'

const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the command on files with these texts; what it prints, and its exit code. */
async function run(texts: readonly string[], options: { readonly json?: true } = {}) {
  const files = texts.map((text, index) => {
    writeFileSync(join(folder, `cases-${index}.yaml`), text)
    return `cases-${index}.yaml`
  })
  const told = { output: '', exitCode: 0 }
  const io = {
    folder,
    print: (text: string) => void (told.output += text),
    exitWith: (code: number) => void (told.exitCode = code),
  } as Partial<Io> as Io
  await testPolicies(files, options, io)
  return told
}

const guides = join(import.meta.dirname, '../../../../docs/guides')
const documented = readdirSync(guides).flatMap((name) =>
  [...readFileSync(join(guides, name), 'utf8').matchAll(/^```yaml\n(at: [^]*?)^```/gm)].map(
    ([, block = '']) => ({ name, block }),
  ),
)

test('Every case in the guides passes', async () => {
  assert.ok(documented.some(({ name }) => name === 'policy-tests.md'))
  const { output, exitCode } = await run(documented.map(({ block }) => block))
  assert.equal(exitCode, 0, output)
  assert.match(output, /^ {2}✔ A report within the budget$/m)
  assert.match(output, /\d+ cases, all passed$/)
})

const base = `
at: 2026-11-20T12:00:00Z
mandate: { max_spend_total: 10.0, max_spend_per_transaction: 5, allowed_sellers: ['*'] }
payment: { amount: 4, resource_url: 'https://api.example.com/data' }
`

test('A case that fails says what was expected and what was decided, and the exit code is 1', async () => {
  const { output, exitCode } = await run([
    `${base}
cases:
  - { name: fits, expect: denied }
  - { name: too much, payment: { amount: 6 }, expect: approved }
  - { name: another code, payment: { amount: 6 }, expect: total_budget_exceeded }
  - { name: any denial, payment: { amount: 6 }, expect: denied }
  - { name: not possible, before: [{ times: 3 }], expect: approved }
  - { name: no mandate, mandate: { max_spend_total: lots }, expect: denied }
`,
  ])
  assert.equal(exitCode, 1)
  assert.deepEqual(output.split('\n'), [
    'cases-0.yaml',
    '  ✖ fits',
    '      expected denied, but it is approved',
    '  ✖ too much',
    '      expected approved, but it is denied: amount_exceeds_per_transaction_limit',
    '      6 > 5, the limit per payment.',
    '  ✖ another code',
    '      expected total_budget_exceeded, but it is denied: amount_exceeds_per_transaction_limit',
    '      6 > 5, the limit per payment.',
    '  ✔ any denial',
    '  ✖ not possible',
    '      the payment before it is not made: total_budget_exceeded: 8.00 spent + 4 > 10.0, the total budget; 2.00 is left.',
    '  ✖ no mandate',
    "      the mandate is not valid: max_spend_total: String should match pattern '^[0-9]+(\\.[0-9]{1,6})?$'",
    '6 cases, 5 failed',
  ])
})

test('Amounts, categories and orders need no quotes, and null is never text', async () => {
  const { output, exitCode } = await run([
    `${base}
cases:
  - { name: above, mandate: { approval: { above: 3.00 } }, expect: approval_required }
  - { name: category, mandate: { allowed_categories: ['12'] }, payment: { category: 12 }, expect: approved }
  - { name: order, payment: { order_id: 12 }, expect: approved }
  - { name: no order, payment: { order_id: null }, expect: approved }
  - { name: no seller, payment: { merchant_domain: null }, expect: approved }
`,
  ])
  assert.equal(exitCode, 1)
  assert.deepEqual(output.split('\n'), [
    'cases-0.yaml',
    '  ✔ above',
    '  ✔ category',
    '  ✔ order',
    '  ✔ no order',
    '  ✖ no seller',
    '      the payment is not valid: merchant_domain: Input should be a valid string',
    '5 cases, 1 failed',
  ])
})

test('With --json each case has its decision', async () => {
  const { output } = await run([`${base}cases: [{ name: fits, expect: approved }]`], { json: true })
  assert.deepEqual(JSON.parse(output), {
    files: [
      {
        file: 'cases-0.yaml',
        cases: [
          {
            name: 'fits',
            passed: true,
            expected: 'approved',
            decision: 'approved',
            reason_code: 'within_policy',
            detail: null,
          },
        ],
      },
    ],
    cases: 1,
    failed: 0,
  })
})

const wrongFiles: readonly (readonly [text: string, error: RegExp])[] = [
  ['cases: [', /cases\.yaml: .*flow/i],
  ['- a', /must be a map of fields/],
  ['cases: []', /at: is missing/],
  [`${base}cases: []`, /cases: must be a list of cases/],
  [`${base}mandat: {}\ncases: [{}]`, /there is no field `mandat`; it takes at, mandate, payment, cases/],
  [
    base.replace('allowed_sellers', 'allowed_seller') + 'cases: [{}]',
    /mandate: there is no field `allowed_seller`/,
  ],
  [base.replace('amount:', 'amout:') + 'cases: [{}]', /payment: there is no field `amout`/],
  [`${base}cases: [{ expect: approved }]`, /cases\[0\]: `name` is missing/],
  [
    `${base}cases: [{ name: a, expect: yes }]`,
    /cases\[0\] \(a\): `expect` must be one of approved, denied, agent_revoked/,
  ],
  [`${base}cases: [{ name: a, at: noon, expect: denied }]`, /`at` must be a time with a time zone/],
  [
    `${base}cases: [{ name: a, at: '2026-11-20T12:00:00', expect: denied }]`,
    /`at` must be a time with a time zone/,
  ],
  [`${base}cases: [{ name: a, expect: denied, before: [{ times: 0 }] }]`, /`times` must be a whole number/],
  [`${base}cases: [{ name: a, expect: denied, before: [{ state: open }] }]`, /`state` must be paid or held/],
  [
    `${base}cases: [{ name: a, expect: denied, before: [{ at: 2026-11-20T12:00:01Z }] }]`,
    /`before` must be in order of time/,
  ],
]
for (const [text, error] of wrongFiles) {
  test(`A file with ${JSON.stringify(text.replace(base, '').slice(0, 70))} is wrong usage`, () => {
    assert.throws(
      () => readCases(text, 'cases.yaml'),
      (thrown: unknown) => thrown instanceof UsageError && error.test(thrown.message),
    )
  })
}

test('A file that cannot be read is wrong usage', async () => {
  const io = { folder } as Partial<Io> as Io
  await assert.rejects(testPolicies(['missing.yaml'], {}, io), /missing\.yaml cannot be read/)
})
