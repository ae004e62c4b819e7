import type { QueryConfig } from 'pg'

import { auditEvent } from '../../domain/audit.ts'
import type { Scope } from '../../domain/records.ts'
import type { MoveProgress, ResumeStep, StopProgress, StopStep } from '../console/store.ts'
import { voidedIn } from '../voided-holds.ts'
import { textArray } from './columns.ts'
import { endHoldsOf } from './hold-acts.ts'
import { query, rowsOf } from './queries.ts'
import type { Transaction } from './transaction.ts'

// Stopping all agents of a scope, and letting them go on; each act moves a bounded number of mandates. One that
// is run again after a lost commit finds the events of those that it moved, and tells of them.

export async function stopMandates(
  transaction: Transaction,
  scope: Scope,
  step: StopStep,
): Promise<StopProgress> {
  const { stopId, tellsEarlier, atMs, afterId, eventIds } = step
  const condition = tellsEarlier
    ? query("(status = 'active' or (status = 'paused' and stopped_by = $5))", [stopId])
    : query("status = 'active'")
  const [locked, recorded] = await transaction.ask(
    lock(scope, { condition, afterId, atMost: eventIds.length }),
    ...recordedBefore(transaction, scope, step),
  )
  const found = rowsOf<{ id: string; status: 'active' | 'paused' }>(locked)
  const before = rowsOf<RecordedMove>(recorded)
  if (before.length > 0) {
    // What lies behind the last of those that were moved is left to the next step.
    const progress = progressOf(before)
    const moved = new Set(before.map((event) => event.subject_id))
    const others = found.filter(({ id }) => !moved.has(id) && id <= (progress.lastId ?? ''))
    const earlier = await tellEarlier(transaction, scope, { stopId, found: others })
    await transaction.commit()
    return { ...progress, earlier }
  }
  const earlier = await tellEarlier(transaction, scope, { stopId, found })
  const ids = found.flatMap(({ id, status }) => (status === 'active' ? [id] : []))
  const lastId = found.at(-1)?.id
  if (ids.length === 0) {
    await transaction.commit()
    return { movedIds: [], voidedHolds: 0, lastId, earlier }
  }
  const [, ended] = await transaction.ask(
    move(scope, ids, { to: 'paused', stopId, atMs }),
    endHoldsOf(scope.accountId, ids, atMs),
  )
  const voidedOf = new Map(
    rowsOf<{ mandate_id: string; voided: number }>(ended).map((row) => [row.mandate_id, row.voided]),
  )
  await transaction.commit(
    insertEvents(scope, ids, step, (id) => ({
      type: 'mandate.paused',
      data: { voided_holds: voidedOf.get(id) ?? 0, stop_id: stopId },
    })),
  )
  const voidedHolds = [...voidedOf.values()].reduce((sum, voided) => sum + voided, 0)
  return { movedIds: ids, voidedHolds, lastId, earlier }
}

/** What the stop had done to those mandates that it had paused before. */
async function tellEarlier(
  transaction: Transaction,
  { accountId }: Scope,
  {
    stopId,
    found,
  }: {
    readonly stopId: string
    readonly found: readonly { readonly id: string; readonly status: 'active' | 'paused' }[]
  },
): Promise<StopProgress['earlier']> {
  const ids = found.flatMap(({ id, status }) => (status === 'paused' ? [id] : []))
  if (ids.length === 0) return { mandateIds: [], holds: 0 }
  const [pauses] = await transaction.ask(
    query(
      `select data from recorded_events where account_id = $1 and subject_id = any ($2::text[])
         and type = 'mandate.paused' and strpos(data, $3) > 0`,
      [accountId, textArray(ids), stopId],
    ),
  )
  return { mandateIds: ids, holds: voidedIn(rowsOf<{ data: string }>(pauses).map(({ data }) => data)) }
}

export async function resumeMandates(
  transaction: Transaction,
  scope: Scope,
  step: ResumeStep,
): Promise<MoveProgress> {
  const { stopId, atMs, afterId, eventIds } = step
  const condition = query(
    "status = 'paused' and stopped_by is not null and ($5::text is null or stopped_by = $5)",
    [stopId],
  )
  const [locked, recorded] = await transaction.ask(
    lock(scope, { condition, afterId, atMost: eventIds.length }),
    ...recordedBefore(transaction, scope, step),
  )
  const ids = rowsOf<{ id: string }>(locked).map(({ id }) => id)
  if (ids.length === 0 || rowsOf(recorded).length > 0) {
    await transaction.commit()
    return progressOf(rowsOf(recorded))
  }
  await transaction.commit(
    move(scope, ids, { to: 'active', stopId: null, atMs }),
    insertEvents(scope, ids, step, () => ({
      type: 'mandate.resumed',
      data: { voided_holds: 0, stop_id: stopId },
    })),
  )
  return { movedIds: ids, voidedHolds: 0, lastId: ids.at(-1) }
}

interface RecordedMove {
  readonly subject_id: string
  readonly data: string
}

/** Asks for the events of an earlier attempt, if there was one; after the lock, which waits for its end. */
function recordedBefore(
  { isRerun }: Transaction,
  { accountId }: Scope,
  { eventIds }: Pick<StopStep, 'eventIds'>,
): QueryConfig[] {
  if (!isRerun) return []
  return [
    query(
      `select subject_id, data from recorded_events where account_id = $1 and id = any ($2::text[])
       order by subject_id`,
      [accountId, textArray(eventIds)],
    ),
  ]
}

/** What events say of the step that left them. */
function progressOf(moves: readonly RecordedMove[]): MoveProgress {
  const voidedHolds = voidedIn(moves.map(({ data }) => data))
  const movedIds = moves.map(({ subject_id }) => subject_id)
  return { movedIds, voidedHolds, lastId: movedIds.at(-1) }
}

/** Locks the next mandates that fit, in the order in which payments lock them. */
function lock(
  { accountId, environment }: Scope,
  {
    condition,
    afterId,
    atMost,
  }: { readonly condition: QueryConfig; readonly afterId: string; readonly atMost: number },
): QueryConfig {
  return query(
    `select id, status from mandates where account_id = $1 and environment = $2 and id > $3 and ${condition.text}
     order by account_id, id limit $4 for no key update`,
    [accountId, environment, afterId, atMost, ...(condition.values ?? [])],
  )
}

function move(
  { accountId }: Scope,
  ids: readonly string[],
  {
    to,
    stopId,
    atMs,
  }: { readonly to: 'active' | 'paused'; readonly stopId: string | null; readonly atMs: number },
): QueryConfig {
  return query(
    `update mandates set status = $3, stopped_by = $4, updated_at_ms = $5
     where account_id = $1 and id = any ($2::text[])`,
    [accountId, textArray(ids), to, stopId, atMs],
  )
}

/** The events of all of them, in one statement: a hundred of their own would be most of what a step costs. */
function insertEvents(
  scope: Scope,
  ids: readonly string[],
  { actor, atMs, eventIds }: Pick<StopStep, 'actor' | 'atMs' | 'eventIds'>,
  detailsOf: (id: string) => { readonly type: 'mandate.paused' | 'mandate.resumed'; readonly data: object },
): QueryConfig {
  const events = ids.map((id, index) => {
    const { type, data } = detailsOf(id)
    const details = { id: eventIds[index] ?? '', type, subjectId: id, data: { ...data }, atMs }
    return auditEvent({ keyId: actor }, scope, details)
  })
  return query(
    `insert into recorded_events (account_id, id, environment, type, actor, subject_id, data, created_at_ms)
     select $1, given.id, $2, given.type, given.actor, given.subject_id, given.data, $3
     from unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
       as given (id, type, actor, subject_id, data)`,
    [
      scope.accountId,
      scope.environment,
      atMs,
      textArray(events.map(({ id }) => id)),
      textArray(events.map(({ type }) => type)),
      textArray(events.map((event) => event.actor)),
      textArray(events.map(({ subjectId }) => subjectId)),
      textArray(events.map(({ data }) => JSON.stringify(data))),
    ],
  )
}
