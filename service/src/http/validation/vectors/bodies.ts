import { notObject } from './errors.ts'
import { mandate } from './mandates.ts'
import { itemsOf, type Vector } from './vector.ts'

const json = 'application/json'
const mandateText = JSON.stringify(mandate)

const noBody: [id: string, path: string, contentType: string | undefined][] = [
  ['v002', '/mandates', json],
  ['v010', '/v1/payments/verify', json],
  ['v025', '/sellers', json],
  ['v027', '/mandates', undefined],
  ['v028', '/mandates', 'text/plain'],
]

/** A body that is not declared as JSON is text. */
const plainText: [id: string, contentType: string, text: string][] = [
  ['v042', 'text/plain', mandateText],
  ['v043', 'application/x-www-form-urlencoded', mandateText],
  ['v045', 'application/octet-stream', mandateText],
  ['v046', 'multipart/form-data; boundary=x', mandateText],
  ['v054', 'application/x-www-form-urlencoded', 'agent_id=a&purpose=b'],
]

const noName = 'Expecting property name enclosed in double quotes'
const noValue = 'Expecting value'
const noComma = "Expecting ',' delimiter"
const notTheEnd = 'Extra data'

/** The error, and its position. */
const notJson: [id: string, text: string, position: number, error: string][] = [
  ['v055', '{', 1, noName],
  ['v057', '{"a":', 5, noValue],
  ['v059', '{"a":1,', 7, noName],
  ['v060', "{'a':1}", 1, noName],
  ['v061', '{a:1}', 1, noName],
  ['v063', '{"a":1} {"b":2}', 8, notTheEnd],
  ['v064', '{"a":"b', 5, 'Unterminated string starting at'],
  ['v065', '{"a":"\\x"}', 6, 'Invalid \\escape'],
  ['v066', '{"a":"\\u12"}', 7, 'Invalid \\uXXXX escape'],
  ['v068', '{"a":1 "b":2}', 7, noComma],
  ['v071', 'None', 0, noValue],
  ['v072', '{"a":undefined}', 5, noValue],
  ['v073', '{"a":01}', 6, noComma],
  ['v075', '{"a":.5}', 5, noValue],
  ['v076', '{"a":+1}', 5, noValue],
  ['v078', '// c\n{}', 0, noValue],
  ['v079', '   ', 3, noValue],
  ['v080', '{\n "a": 1,\n "b": oops\n}', 17, noValue],
  ['v082', '{"a":1,,"b":2}', 7, noName],
  ['v083', '{"a":1}\0', 7, notTheEnd],
  ['v085', '\f{}', 0, noValue],
  ['v089', '{"a":1,}', 7, noName],
  ['v090', '[1,]', 3, noValue],
]

/** The cases about the raw bytes of the body. */
export const bodyVectors: Vector[] = [
  ...noBody.map(([id, path, contentType]) => ({
    ...request(contentType, undefined),
    id,
    title: `no body, declared as ${contentType}`,
    path,
    detail: [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }],
  })),
  ...plainText.map(([id, contentType, text]) => ({
    ...request(contentType, text),
    id,
    title: `a text declared as ${contentType}`,
    detail: itemsOf({ '': notObject }, text),
  })),
  ...notJson.map(([id, text, position, error]) => ({
    ...request(json, text),
    id,
    title: `${error} at ${position}`,
    detail: [
      { type: 'json_invalid', loc: ['body', position], msg: 'JSON decode error', input: {}, ctx: { error } },
    ],
  })),
  {
    ...request(json, Buffer.from('{"agent_id":"\xff"}', 'latin1')),
    id: 'v091',
    title: 'a body that is not UTF-8',
    status: 400,
    detail: 'There was an error parsing the body',
  },
  {
    ...request(json, `\uFEFF${mandateText}`),
    id: 'v094',
    title: 'a byte order mark before the body',
    status: 201,
    detail: undefined,
  },
]

function request(contentType: string | undefined, body: string | Buffer | undefined) {
  return {
    method: 'POST',
    path: '/mandates',
    headers: contentType === undefined ? {} : { 'content-type': contentType },
    body: body === undefined ? undefined : Buffer.from(body),
    status: 422,
    needsService: false,
  }
}
