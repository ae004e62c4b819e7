import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Type } from '@purser/wire/schema/type'

import { echoExactly } from './exact-echo.ts'
import { readJsonBody } from './json-body.ts'
import { compileValidator } from './validator.ts'

const validate = compileValidator(
  Type.Object({ name: Type.String(), list: Type.Optional(Type.Array(Type.String())) }),
  'body',
)

test('numbers that JavaScript cannot represent are echoed as written', () => {
  const echoes: [body: string, echo: string][] = [
    ['{"name":12345678901234567890}', '12345678901234567890'],
    ['{"name":-9007199254740993}', '-9007199254740993'],
    ['{"name":1e400}', '1e400'],
    ['{"name":{"deep":[12345678901234567890]}}', '{"deep":[12345678901234567890]}'],
    ['{"name":"x","list":["y",12345678901234567890]}', '12345678901234567890'],
    ['{"other":12345678901234567890}', '{"other":12345678901234567890}'],
    ['[12345678901234567890]', '[12345678901234567890]'],
    ['{"name":1.50}', '1.5'],
    ['{"name":9007199254740991}', '9007199254740991'],
    ['{"name":1e5}', '100000'],
  ]
  for (const [body, echo] of echoes)
    assert.equal(JSON.stringify(echoOf(body, 'application/json')), echo, body)
})

test('a body that is not declared as JSON is echoed as text', () => {
  assert.equal(echoOf('{"name":12345678901234567890}', 'text/plain'), '{"name":12345678901234567890}')
})

function echoOf(body: string, contentType: string): unknown {
  const reading = readJsonBody(Buffer.from(body), contentType)
  assert.ok(reading.kind === 'value')
  const checked = validate(reading.value)
  assert.ok(!checked.ok)
  return echoExactly(checked.items, reading.json)[0]?.input
}
