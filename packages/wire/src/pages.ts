import { Type, type Schema } from './schema/type.ts'

import { maxLengths } from './lengths.ts'

/** Default page size. */
export const defaultPageSize = 50

/** Max page size. */
export const maxPageSize = 200

/** The query parameters of every list. The `Link` header has the URL of the next page. */
export const pageParameters = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxPageSize,
      default: defaultPageSize,
      description: 'Max items in the response. A page of large records may be shorter.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: maxLengths.cursor,
      description:
        'Where the page starts, from the `Link` header of the previous page; by default the first page.',
    }),
  ),
}

/**
 * A page of a list. With large records it may have fewer items than requested; `Link` then leads to the rest.
 */
export const PageOf = <T extends Schema>(item: T) => Type.Array(item, { maxItems: maxPageSize })

export const PageQuery = Type.Object(pageParameters)
