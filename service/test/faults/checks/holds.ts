import { validityWindowMs } from '../../../src/domain/proof.ts'
import type { Complain } from '../complaint.ts'
import { isDone, isFateUnknown, latestMs } from '../calls.ts'
import type { Dossier } from '../dossier.ts'
import type { CallOf, HoldContent } from '../history.ts'

/**
 * How long after its end an expired hold may still be open. The sweep runs every second, but histories move the clock by six
 * minutes at once.
 */
export const sweptWithinMs = 7 * 60_000

/** Every hold was requested, and is captured, expired, voided or legitimately open. */
export function checkHolds(dossier: Dossier, complain: Complain): void {
  for (const [nonce, { request }] of dossier.grants) {
    const hold = dossier.holds.get(nonce)
    if (!hold) complain('hold lost', nonce, 'the proof was granted, and its hold is not in the ledger')
    else if (hold.mandateId !== request.mandateId || hold.amountMicro !== request.amountMicro) {
      complain('record differs', nonce, 'the hold differs from the request')
    }
  }
  const untold = dossier.callsOf('ask-proof').filter(isFateUnknown)
  const untoldOf = Map.groupBy(untold, ({ request }) => request.mandateId)
  for (const hold of dossier.content.holds) {
    if (!isExplained(dossier, hold, untoldOf.get(hold.mandateId) ?? [])) {
      complain('hold unexplained', hold.nonce, 'no request can have caused it')
    }
    checkState(dossier, hold, complain)
  }
}

function isExplained(dossier: Dossier, hold: HoldContent, untold: readonly CallOf<'ask-proof'>[]): boolean {
  const { nonce, issuedAtMs, amountMicro, orderId } = hold
  const granted = dossier.grantsOf(nonce)
  const candidates =
    granted.length > 0 && orderId === null
      ? granted
      : [...granted, ...untold.filter(({ request }) => request.amountMicro === amountMicro)]
  // A service may process a request only after its client has given up.
  return candidates.some((call) => call.beganMs <= issuedAtMs && issuedAtMs <= latestMs(call))
}

function checkState(dossier: Dossier, hold: HoldContent, complain: Complain): void {
  const { nonce, status, issuedAtMs, expiresAtMs, transactionId, captureDeadlineMs } = hold
  const [payment] = dossier.paymentsOf(nonce)
  if ((status === 'captured') !== (transactionId !== null)) {
    complain('record differs', nonce, `${status}, with the transaction ${transactionId}`)
  }
  if (transactionId !== (payment?.id ?? null)) {
    complain('record differs', nonce, `captured by ${transactionId}, paid by ${payment?.id ?? null}`)
  }
  const stops = dossier.endsOf(hold)
  switch (status) {
    case 'captured': {
      const capturedAtMs = payment?.createdAtMs ?? issuedAtMs
      if (captureDeadlineMs !== null) {
        if (capturedAtMs >= captureDeadlineMs + dossier.skewMs) {
          complain(
            'captured after expiry',
            nonce,
            `${capturedAtMs - captureDeadlineMs} ms after its deadline`,
          )
        }
      } else if (
        capturedAtMs >= expiresAtMs + dossier.skewMs ||
        capturedAtMs - issuedAtMs > validityWindowMs + dossier.skewMs
      ) {
        complain('captured after expiry', nonce, `${capturedAtMs - issuedAtMs} ms after it was issued`)
      }
      break
    }
    case 'open': {
      if (dossier.content.sweptUntilMs - expiresAtMs > sweptWithinMs) {
        complain('hold not released', nonce, 'it has expired, and is still open')
      }
      const heldSinceMs = dossier.heldSinceMs(hold)
      if (heldSinceMs !== undefined && stops.some((stop) => isDone(stop) && stop.beganMs > heldSinceMs)) {
        complain('hold not released', nonce, 'its mandate was stopped, and it is still open')
      }
      break
    }
    case 'voided':
      if (captureDeadlineMs !== null) {
        if (dossier.actsOf(nonce, 'void-authorized').length === 0) {
          complain('hold ended early', nonce, 'it was authorized, and its merchant did not void it')
        }
      } else if (!dossier.perhapsEndsOf(hold).some((stop) => latestMs(stop) >= issuedAtMs)) {
        complain('hold ended early', nonce, 'it is voided, but its mandate was not stopped')
      }
      break
    case 'expired':
      if (
        dossier.content.readAtMs <
        (captureDeadlineMs === null ? dossier.expiresFromMs(hold) : captureDeadlineMs - dossier.skewMs)
      )
        complain('hold ended early', nonce, 'it has not expired yet')
      break
    case 'authorized':
      if (dossier.content.sweptUntilMs - (captureDeadlineMs ?? 0) > sweptWithinMs) {
        complain('hold not released', nonce, 'its deadline has passed, and it is still authorized')
      }
      break
    default:
      status satisfies never
  }
}
