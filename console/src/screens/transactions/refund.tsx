import type { RefundRequest, TransactionDetail } from '@purser/client'

import { formFaults } from '../../api/failures.ts'
import { useChange } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { useSent } from '../../api/sent.ts'
import { useTyped } from '../../api/typed.ts'
import { Go } from '../../shell/go.tsx'
import { amountInWords, invalidAmount, readMicro } from '../../text/amounts.ts'
import { Amount } from '../../ui/amount.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { Dialog, DialogForm } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { sayDone } from '../../ui/toast.tsx'
import { Minute } from '../../ui/when.tsx'
import { useAddressFlag } from '../address-flag.ts'

const maxReason = 500

/** Refunds a payment, for the account that collected it. */
export function RefundButton({ detail }: { readonly detail: TransactionDetail }) {
  const asked = useAddressFlag('refund')
  const { session } = useSeen()
  const { refundable, transaction } = detail
  if (session.role === 'approver' || refundable === null || !((readMicro(refundable) ?? 0n) > 0n)) return null
  return (
    <>
      <Button icon="refund" onClick={asked.set}>
        Refund…
      </Button>
      <Dialog title="Refund this payment" isOpen={asked.isSet} onClose={asked.clear}>
        <RefundForm id={transaction.id} refundable={refundable} onClose={asked.clear} />
      </Dialog>
    </>
  )
}

/** A separate component, so that each refund begins with what is left. */
function RefundForm({
  id,
  refundable,
  onClose,
}: {
  readonly id: string
  readonly refundable: string
  readonly onClose: () => void
}) {
  const [amount, setAmount] = useTyped(`refund.${id}.amount`, refundable)
  const [reason, setReason] = useTyped(`refund.${id}.reason`, '')
  const { sent, send, forget } = useSent<RefundRequest>(`refund.${id}`)
  const refund = useChange(
    (purser) => {
      const words = reason.trim()
      const body = { amount: amount.trim(), ...(words && { reason: words }) }
      // A refund that may have been made is sent again as it was.
      return send(sent?.body ?? body, ({ idempotencyKey, body }) =>
        purser.transactions.refund(id, body, { idempotencyKey }),
      )
    },
    {
      onDone: (made) => {
        sayDone(`Refunded: ${amountInWords(made.amount)} ${made.currency}`)
        onClose()
      },
      whenUnseen: 'The refund failed.',
    },
  )
  const faults = formFaults(refund.error, ['amount', 'reason'])
  const amountFault = sent ? undefined : faultOf(amount, refundable)
  return (
    <DialogForm
      action="Refund"
      isReady={sent !== undefined || (amount.trim() !== '' && amountFault === undefined)}
      isWorking={refund.isPending}
      failure={faults.rest}
      onClose={onClose}
      onSubmit={() => refund.mutate(undefined)}
    >
      <p>The agent’s mandate may spend the amount again. A refund cannot be undone.</p>
      {sent && !refund.isPending && (
        <Notice tone="warn">
          <div className="stack-tight">
            <p>
              A refund of {amountInWords(sent.body.amount)} USDC was sent, but no answer came back. Press
              Refund to send the same one again: it is made only once. Before you enter another one, check
              whether this one is among the payment’s refunds.
            </p>
            <div>
              <Button
                onClick={() => {
                  forget()
                  refund.reset()
                }}
              >
                Enter another refund
              </Button>
            </div>
          </div>
        </Notice>
      )}
      <TextField
        label="Amount (USDC)"
        value={sent?.body.amount ?? amount}
        onChange={setAmount}
        readOnly={sent !== undefined}
        required
        inputMode="decimal"
        autoComplete="off"
        hint={!sent && `At most ${amountInWords(refundable)} USDC, which is what is left of the payment.`}
        error={amountFault ?? faults.byField.amount}
      />
      <TextField
        label="Reason (optional)"
        value={sent ? (sent.body.reason ?? '') : reason}
        onChange={setReason}
        readOnly={sent !== undefined}
        maxLength={maxReason}
        hint="Both accounts see it."
        error={faults.byField.reason}
      />
    </DialogForm>
  )
}

/** Why an amount cannot be refunded; undefined while there is none. */
function faultOf(amount: string, refundable: string): string | undefined {
  if (amount.trim() === '') return undefined
  const micro = readMicro(amount) ?? 0n
  if (micro === 0n) return invalidAmount
  return micro > (readMicro(refundable) ?? 0n) ? 'This is more than what is left of the payment.' : undefined
}

type RefundRow = TransactionDetail['refunds'][number]

const columns: readonly Column<RefundRow>[] = [
  {
    title: 'Reason',
    isName: true,
    cell: ({ id, reason }) => (
      <Go to={`transactions/${id}`}>{reason?.trim() ? reason : 'No reason given'}</Go>
    ),
  },
  { title: 'Amount', figures: true, cell: ({ amount }) => <Amount value={amount} currency="USDC" /> },
  { title: 'When', figures: true, cell: ({ created_at }) => <Minute at={created_at} /> },
]

/** The refunds of a payment, oldest first. */
export function RefundTable({ refunds }: Pick<TransactionDetail, 'refunds'>) {
  return <DataTable label="Refunds" columns={columns} rows={refunds} rowKey={({ id }) => id} />
}
