/** Explains what a category limit does and does not do, wherever one is set or shown. */
export const categoryRule =
  'Checked when the seller or the agent asks before paying (verify-agent, evaluate). Not checked at payment, because a proof has no category.'
