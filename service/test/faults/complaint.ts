/** Everything that can be wrong after a run. */
export const complaintKinds = [
  /** An acknowledged charge is not in the ledger. */
  'charge lost',
  'charged twice',
  /** A charge that no request explains. */
  'charge unexplained',
  /** Two answers about one proof name different transactions. */
  'answers differ',
  /** A client was told that a payment failed, but it was made. */
  'untrue failure',
  /** A refusal without a reason at any moment of the request. */
  'failure unexplained',
  /** A success that was reported to a caller who did not pay, or too early. */
  'untrue success',
  /** A charge whose collector retried and never learned of it. */
  'charge untold',
  'overspent',
  /** A payment that needed approval and did not get it. */
  'not approved',
  /** The sums of a mandate, or of the console, differ from their records. */
  'sums differ',
  /** An acknowledged proof has no hold. */
  'hold lost',
  'hold unexplained',
  /** A hold that should have ended has not. */
  'hold not released',
  /** A hold that ended without a cause. */
  'hold ended early',
  'captured after expiry',
  /** An operation that began after an answered stop succeeded. */
  'success after stop',
  'event missing',
  'event unexplained',
  /** An acknowledged record is not in the ledger. */
  'record lost',
  'record unexplained',
  /** A record differs from the request, or contradicts another. */
  'record differs',
  /** A read returned values that were not true at any moment of the request. */
  'untrue read',
  /** An answer that the interface does not allow. */
  'broken answer',
] as const
export type ComplaintKind = (typeof complaintKinds)[number]

export interface Complaint {
  readonly kind: ComplaintKind
  /** The id of what it is about. */
  readonly subject: string
  readonly text: string
}

/** Reports a problem. */
export type Complain = (kind: ComplaintKind, subject: string, text: string) => void
