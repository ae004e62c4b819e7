import { Type, type TSchema } from 'typebox'

import { maxLengths } from './lengths.ts'

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
      description: 'Max items in the answer. A page of large records may end earlier.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: maxLengths.cursor,
      description:
        'Where the page starts, from the `Link` header of the page before; the first page when left out.',
    }),
  ),
}

/**
 * A page of a list. Large records end it early, before it has as many items as were asked for; `Link` then leads to
 * the rest.
 */
export const PageOf = <T extends TSchema>(item: T) => Type.Array(item, { maxItems: maxPageSize })

export const PageQuery = Type.Object(pageParameters)
