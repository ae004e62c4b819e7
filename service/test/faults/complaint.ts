/** Everything that can be wrong with what a run left behind. */
export const complaintKinds = [
  /** An acknowledged charge is not in the ledger. */
  'charge lost',
  'charged twice',
  /** A charge that no request explains. */
  'charge unexplained',
  /** Two answers about one proof name two transactions. */
  'answers differ',
  /** Somebody was told that a payment failed, and it stands. */
  'untrue failure',
  /** A refusal for which there was no reason at any moment of the request. */
  'failure unexplained',
  /** A success that was told to one who did not pay, or before it was so. */
  'untrue success',
  /** A charge stands whose collector asked again and never got to know. */
  'charge untold',
  'overspent',
  /** A payment that needed a person's approval and did not get it. */
  'not approved',
  /** The sums of a mandate, or of the console, are not the sums of their records. */
  'sums differ',
  /** An acknowledged proof has no hold. */
  'hold lost',
  'hold unexplained',
  /** A hold that should have ended has not. */
  'hold not released',
  /** A hold that ended though nobody and nothing ended it. */
  'hold ended early',
  'captured after expiry',
  /** Something succeeded that began after a stop was answered. */
  'success after stop',
  'event missing',
  'event unexplained',
  /** An acknowledged record is not in the ledger. */
  'record lost',
  'record unexplained',
  /** A record does not say what was asked for, or contradicts another. */
  'record differs',
  /** A read told what was not so at any moment of the request. */
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

/** Says that something is wrong. */
export type Complain = (kind: ComplaintKind, subject: string, text: string) => void
