import { MockLanguageModelV4 } from 'ai/test'

/**
 * Stands in for a real model, so that the example runs anywhere and always the same. Like one, it sees only what
 * the tools answer, and chooses its next step by that.
 */
export function scriptedModel(shop: string): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const result = lastToolResult(prompt)
      if (!result)
        return use('pay', { purchase_id: 'weather-1', resource_url: `${shop}/dear`, amount: '7.00' })
      if (result.reason_code === 'amount_exceeds_per_transaction_limit') {
        const [, cap = ''] = /at most (\S+) USDC/.exec(result.remedy ?? '') ?? []
        return use('fetch_paid_resource', {
          purchase_id: 'weather-2',
          url: `${shop}/report`,
          max_amount: cap,
        })
      }
      if (result.outcome === 'paid') return say(`The report says: ${result.response?.body}`)
      return say(`I could not buy the report: ${result.reason_detail}`)
    },
  })
}

interface ToolResult {
  readonly outcome: string
  readonly reason_code: string | null
  readonly reason_detail: string | null
  readonly remedy: string | null
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
const usage = { inputTokens: tokens, outputTokens: tokens }

function use(toolName: string, input: object) {
  calls += 1
  return {
    content: [
      { type: 'tool-call' as const, toolCallId: `call-${calls}`, toolName, input: JSON.stringify(input) },
    ],
    finishReason: { unified: 'tool-calls' as const, raw: undefined },
    usage,
    warnings: [],
  }
}

function say(text: string) {
  return {
    content: [{ type: 'text' as const, text }],
    finishReason: { unified: 'stop' as const, raw: undefined },
    usage,
    warnings: [],
  }
}
