/**
 * The max length of each kind of text, in characters (Unicode code points); for URLs in UTF-8 bytes. The
 * schemas, the OpenAPI document and the 422 use this table.
 */
export const maxLengths = {
  id: 255,
  name: 255,
  description: 5_000,
  purpose: 5_000,
  label: 200,
  /** The longest name that fits the wire format of DNS. */
  domain: 253,
  url: 2_083,
  category: 255,
  capability: 255,
  /** Including a display name, such as `Ada <ada@example.com>`; the address itself is shorter. */
  email: 2_048,
  idpUserId: 255,
  amount: 255,
  metadataKey: 40,
  metadataValue: 500,
  /** A vocabulary value, such as a currency or a status. */
  word: 255,
  signature: 255,
  /** The URN form, which is the longest. */
  uuid: 45,
  timestamp: 100,
  cursor: 255,
  /** The resume position of a feed: an id, and the suffixes of ids that may still appear before it. */
  feedPlace: 10_000,
  search: 200,
  /** The text of an API key or of a session's token. */
  secret: 400,
  reasonDetail: 2_000,
  /** The reason that a seller gives for a refund. */
  refundReason: 500,
  orderId: 100,
  /** A day, such as `2026-11-20`. */
  day: 10,
  /** What an agent or a person writes about an approval. */
  approvalMessage: 1_000,
  /** Text written by the service: the message of a 422, the value of a policy check. */
  message: 5_000,
} as const

/** The max number of items of each kind of list. */
export const maxItems = {
  sellers: 1_000,
  categories: 1_000,
  capabilities: 1_000,
  resources: 100,
  /** Entries of `metadata`. */
  metadata: 20,
  /** Entries of a `price_config`, at the top level. */
  priceConfig: 1_000,
  /** Errors in a 422, and path segments of an error's location. */
  faults: 20,
  place: 20,
  /** Open holds returned with a mandate. */
  openHolds: 100,
  /** Each person decides at most twice: to approve, and to withdraw the approval. */
  approvalDecisions: 4,
  /** Max refunds of one payment. */
  refunds: 100,
  nearestBudgets: 100,
  spendingParts: 5,
  buckets: 400,
  settlementDays: 400,
  backtestChecks: 100,
  backtestExamples: 10,
  /** Limits of a mandate or a shared budget, and of a mandate with the budgets above it and its agent. */
  limits: 10,
  limitUsages: 90,
  /** Shared budgets above a mandate and above its agent. */
  budgetsAbove: 8,
} as const
