import assert from 'node:assert/strict'
import { test } from 'node:test'

import { csvLine } from './csv.ts'

test('CSV formulas are escaped', () => {
  const rows: [value: string, field: string][] = [
    ['=HYPERLINK("http://evil.example","x")', `"'=HYPERLINK(""http://evil.example"",""x"")"`],
    [`+cmd|' /C calc'!A0`, `'+cmd|' /C calc'!A0`],
    ['-1+1', `'-1+1`],
    ['@SUM(A1)', `'@SUM(A1)`],
    [' =1+1', `' =1+1`],
    ['\t=1+1', `'\t=1+1`],
    ['\r=1+1', `"'\r=1+1"`],
    ['\n=1+1', `"'\n=1+1"`],
    // Full-width forms, which some spreadsheets accept.
    ['＝1+1', `'＝1+1`],
    ['＋1', `'＋1`],
    ['－1', `'－1`],
    ['＠SUM(A1)', `'＠SUM(A1)`],
    // Where a comma separates decimals, spreadsheets separate cells at semicolons.
    ['a;=1+1;b', `a;'=1+1;b`],
    ['a; -1', `a;' -1`],
    ['a;b', 'a;b'],
    ['api.example.com', 'api.example.com'],
    ['1=1', '1=1'],
  ]
  for (const [value, field] of rows) assert.equal(csvLine([value]), `${field}\r\n`, JSON.stringify(value))
})

test('A field with a comma, a quote or a line break is quoted, and null is an empty field', () => {
  assert.equal(
    csvLine(['a,b', 'a"b', 'a\nb', 'a\rb', null, '', 'plain']),
    '"a,b","a""b","a\nb","a\rb",,,plain\r\n',
  )
})
