import type { MicroUsdc } from '../../../domain/money.ts'
import { sumOfHalves } from '../activity.ts'
import type { Int } from './rows.ts'
import { sql, type Sql } from '../../sql.ts'

/** What a captured payment `p` has charged: see `capturedOf`. */
export const capturedMicro = sql`coalesce(p.captured_micro, p.amount_micro)`

/** The same without what was refunded. */
export const chargedMicro = sql`(${capturedMicro} - coalesce(p.refunded_micro, 0))`

/** A row of sums by column. */
export type Sums = Readonly<Record<string, Int | null>>

/** The sum of a value in the rows that meet a condition; 0 for no rows. */
export function sumWhere(condition: Sql, value: Sql): Sql {
  return sql`cast(coalesce(sum(case when ${condition} then ${value} else 0 end), 0) as bigint)`
}

/**
 * The sum of an amount in two columns, its upper and its lower half, because it may exceed 64 bits. `amountFrom` reads it under
 * the same name.
 */
export function sumAmount(name: string, amount: Sql, condition = sql`1 = 1`): Sql {
  return sql`${sumWhere(condition, sql`${amount} >> 32`)} as ${sql.ref(`${name}_high`)},
    ${sumWhere(condition, sql`${amount} & 4294967295`)} as ${sql.ref(`${name}_low`)}`
}

/** A sum of `sumAmount`; 0 without a row. */
export function amountFrom(row: Sums | undefined, name: string): MicroUsdc {
  return sumOfHalves(row?.[`${name}_high`] ?? 0, row?.[`${name}_low`] ?? 0)
}

/** A count, or a sum of counts; 0 without a row. */
export function countFrom(row: Sums | undefined, name: string): number {
  return Number(row?.[name] ?? 0)
}
