import { maxDenialsPerMinute } from '../../../src/store/ledger/operations/denials.ts'
import type { Complain } from '../complaint.ts'
import { isDone, isFateUnknown } from '../calls.ts'
import type { Dossier } from '../dossier.ts'
import type { EventContent } from '../history.ts'

/** Everything acknowledged is recorded once, and everything recorded was requested. */
export function checkRecords(dossier: Dossier, complain: Complain): void {
  for (const { answer, request } of dossier.calls) {
    if (answer.is === 'broken') complain('broken answer', request.act, answer.text)
  }
  checkTransactions(dossier, complain)
  checkEvaluations(dossier, complain)
  checkDenials(dossier, complain)
  const eventsAbout = Map.groupBy(dossier.content.events, ({ subjectId }) => subjectId)
  checkPaymentEvents(dossier, eventsAbout, complain)
  checkCreations(dossier, eventsAbout, complain)
  checkRevocations(dossier, eventsAbout, complain)
}

/** A payment agrees with its hold, and is recorded in both accounts if it is between two. */
function checkTransactions(dossier: Dossier, complain: Complain): void {
  const copies = dossier.content.transactions.filter(
    ({ side, status }) => side === 'payee' && status === 'paid',
  )
  const copyOf = new Map(copies.map((copy) => [copy.id, copy]))
  for (const { id, nonce, mandateId, amountMicro, isBetweenAccounts } of dossier.payments) {
    const hold = dossier.holds.get(nonce ?? '')
    if (hold?.mandateId !== mandateId || (hold.capturedMicro ?? hold.amountMicro) !== amountMicro) {
      complain('record differs', id, 'the payment is not what its hold was for')
    }
    const copy = copyOf.get(id)
    if (isBetweenAccounts && !copy) complain('record lost', id, 'the payee has no copy of the payment')
    if (copy && (!isBetweenAccounts || copy.amountMicro !== amountMicro || copy.nonce !== nonce)) {
      complain('record differs', id, 'the payee sees another payment than the payer')
    }
  }
  const payers = new Set(dossier.payments.map(({ id }) => id))
  for (const { id } of copies) {
    if (!payers.has(id)) complain('record unexplained', id, 'the payee has a payment that was never made')
  }
}

function checkEvaluations(dossier: Dossier, complain: Complain): void {
  const recorded = new Map(
    dossier.content.transactions.flatMap((row) =>
      row.status === 'paid' || row.status === 'refunded' ? [] : [[row.id, row] as const],
    ),
  )
  let untold = 0
  for (const call of dossier.callsOf('evaluate')) {
    const { answer, request } = call
    if (isFateUnknown(call)) untold++
    if (answer.is !== 'approved' && answer.is !== 'denied') continue
    const id = answer.transactionId ?? ''
    const row = recorded.get(id)
    recorded.delete(id)
    if (!row) complain('record lost', id, 'the evaluation was acknowledged and is not in the ledger')
    else if (row.status !== answer.is || row.amountMicro !== request.amountMicro) {
      complain('record differs', id, `the evaluation is ${row.status} on record`)
    }
  }
  if (recorded.size > untold) {
    complain('record unexplained', '', `${recorded.size} unanswered evaluations, ${untold} requested`)
  }
}

/**
 * No denied proof is counted twice. The first ones of each minute are recorded and never lost; those beyond
 * are only counted, and one whose first attempt may have been committed is not counted again. That attempt may be counted
 * although its rerun granted the proof.
 */
function checkDenials(dossier: Dossier, complain: Complain): void {
  if (!dossier.content.denials) return
  const denials = new Map(dossier.content.denials.map(({ mandateId, count }) => [mandateId, count]))
  const deniedNonces = new Set(dossier.content.deniedNonces)
  const asked = Map.groupBy(dossier.callsOf('ask-proof'), ({ request }) => request.mandateId)
  for (const mandateId of new Set([...asked.keys(), ...denials.keys()])) {
    const calls = asked.get(mandateId) ?? []
    const told = calls.filter(({ answer }) => answer.is === 'denied').length
    const untold = calls.filter(isFateUnknown).length
    const granted = calls.filter(
      ({ answer }) => answer.is === 'granted' && deniedNonces.has(answer.nonce),
    ).length
    const count = denials.get(mandateId) ?? 0
    if (count < Math.min(told, maxDenialsPerMinute)) {
      complain('record lost', mandateId, `${count} denials of ${told} are counted`)
    }
    if (count > told + untold + granted)
      complain('record unexplained', mandateId, `${count} denials, ${told} told`)
  }
}

type EventsAbout = ReadonlyMap<string, readonly EventContent[]>

function checkPaymentEvents(dossier: Dossier, eventsAbout: EventsAbout, complain: Complain): void {
  for (const { id, nonce } of dossier.payments) {
    const events = eventsAbout.get(id) ?? []
    if (events.length === 0) complain('event missing', id, 'the payment has no event')
    if (events.length > 1) complain('event unexplained', id, `the payment has ${events.length} events`)
    if (events.some((event) => event.nonce !== nonce)) {
      complain('record differs', id, "the payment's event names another proof")
    }
  }
  const paid = new Set(dossier.payments.map(({ id }) => id))
  for (const { type, subjectId } of dossier.content.events) {
    if (type === 'payment.verified' && !paid.has(subjectId)) {
      complain('event unexplained', subjectId, 'the event has no payment')
    }
  }
}

function checkCreations(dossier: Dossier, eventsAbout: EventsAbout, complain: Complain): void {
  const agents = new Set(dossier.content.agents.map(({ id }) => id))
  for (const { answer, request } of dossier.callsOf('create-agent', 'create-mandate', 'issue-key')) {
    if (answer.is !== 'created') continue
    const { id } = answer
    const created = (eventsAbout.get(id) ?? []).filter(({ type }) => type.endsWith('.created'))
    if (created.length === 0) complain('event missing', id, `${request.act} was acknowledged`)
    if (created.length > 1) complain('event unexplained', id, `it was created ${created.length} times`)
    const isThere =
      request.act === 'issue-key' ||
      (request.act === 'create-agent' ? agents.has(id) : dossier.mandates.has(id))
    if (!isThere) complain('record lost', id, `${request.act} was acknowledged`)
  }
}

/** A revocation is permanent, so it has one event; an answered pause has at least one. */
function checkRevocations(dossier: Dossier, eventsAbout: EventsAbout, complain: Complain): void {
  const acts = ['revoke-agent', 'revoke-mandate', 'revoke-key', 'pause-mandate'] as const
  const subjects = Map.groupBy(dossier.callsOf(...acts), ({ request }) => {
    const id = 'agentId' in request ? request.agentId : 'keyId' in request ? request.keyId : request.mandateId
    return `${id} ${request.act}`
  })
  for (const [subject, calls] of subjects) {
    const [id = '', act = ''] = subject.split(' ')
    const verb = act === 'pause-mandate' ? 'paused' : 'revoked'
    const events = (eventsAbout.get(id) ?? []).filter(({ type }) => type.endsWith(`.${verb}`))
    if (calls.some(isDone) && events.length === 0) complain('event missing', id, `${act} was acknowledged`)
    // A stop of all mandates pauses again what others resume meanwhile.
    const isPausedByStops = verb === 'paused' && dossier.stopAlls.length > 0
    if (!isPausedByStops && events.length > (verb === 'paused' ? calls.length : 1)) {
      complain('event unexplained', id, `it was ${verb} ${events.length} times`)
    }
  }
}
