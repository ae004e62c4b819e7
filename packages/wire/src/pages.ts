import { Type } from 'typebox'

/** How many items a page holds when the caller does not say. */
export const defaultPageSize = 50

/** How many items a page holds at the most. */
export const maxPageSize = 200

/** The query parameters that every list takes. The next page's address stands in the `Link` header. */
export const pageParameters = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxPageSize,
      default: defaultPageSize,
      description: 'Most items in the answer.',
    }),
  ),
  cursor: Type.Optional(Type.String({ description: 'Where the page starts; taken from the `Link` header.' })),
}

export const PageQuery = Type.Object(pageParameters)
