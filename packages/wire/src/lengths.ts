/**
 * The max length of each kind of text, in characters (Unicode code points); of a URL in UTF-8 bytes. The schemas, the
 * OpenAPI document and the 422 all follow this table.
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
  /** With a name before it, such as `Ada <ada@example.com>`; the address itself is shorter. */
  email: 2_048,
  idpUserId: 255,
  amount: 255,
  /** A word of a vocabulary, such as a currency or a status. */
  word: 255,
  signature: 255,
  /** As a URN, which is the longest form. */
  uuid: 45,
  timestamp: 100,
  cursor: 255,
  /** Where a feed goes on: an id, and the ends of those that may still come before it. */
  feedPlace: 10_000,
  search: 200,
  /** The text of an API key or of a session's token. */
  secret: 400,
  reasonDetail: 2_000,
  /** What the service says in words: the message of a 422, the values of a policy check. */
  message: 5_000,
} as const

/** The max number of items of each kind of list. */
export const maxItems = {
  sellers: 1_000,
  categories: 1_000,
  capabilities: 1_000,
  /** Names and values of a `price_config`, on its outermost level. */
  priceConfig: 1_000,
  /** Faults that a 422 names, and steps to the place of one of them. */
  faults: 20,
  place: 20,
  /** Open holds that are shown with a mandate. */
  openHolds: 100,
  nearestBudgets: 100,
  stretches: 400,
} as const
