import { MockLanguageModelV4 } from 'ai/test'

/**
 * Replaces a real model, so that the example runs anywhere and is deterministic. Like a model, it sees only the
 * results of tools and chooses its next step from them: if one URL is refused, it tries the next.
 */
export function scriptedModel(addresses: readonly string[]): MockLanguageModelV4 {
  const left = [...addresses]
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const result = lastToolResult(prompt)
      if (result?.outcome === 'paid') return say(`The source says: ${result.response?.body}`)
      const url = left.shift()
      if (url === undefined) return say(`I could not buy it: ${result?.reason_detail}`)
      return use('fetch_paid_resource', { purchase_id: `weather from ${url}`, url, max_amount: '10.00' })
    },
  })
}

interface ToolResult {
  readonly outcome: string
  readonly reason_detail: string | null
  readonly response: { readonly body: string } | null
}

type Prompt = Parameters<MockLanguageModelV4['doGenerate']>[0]['prompt']

function lastToolResult(prompt: Prompt): ToolResult | undefined {
  const [part] = prompt.at(-1)?.content ?? []
  if (typeof part !== 'object' || part.type !== 'tool-result' || part.output.type !== 'json') return undefined
  return part.output.value as unknown as ToolResult
}

let calls = 0
const tokens = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0, text: 0, reasoning: 0 }
const rest = { usage: { inputTokens: tokens, outputTokens: tokens }, warnings: [] }

function use(toolName: string, input: object) {
  const call = { toolCallId: `call-${++calls}`, toolName, input: JSON.stringify(input) }
  const finishReason = { unified: 'tool-calls' as const, raw: undefined }
  return { content: [{ type: 'tool-call' as const, ...call }], finishReason, ...rest }
}

function say(text: string) {
  const finishReason = { unified: 'stop' as const, raw: undefined }
  return { content: [{ type: 'text' as const, text }], finishReason, ...rest }
}
