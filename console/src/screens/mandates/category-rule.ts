/** Explains what a category limit does and does not do, wherever one is set or shown. */
export const categoryRule =
  'Checked when the seller or the agent asks before paying (verify-agent, evaluate). Not checked at payment, unless the mandate enforces categories.'

/** The same for a mandate that enforces its categories. */
export const enforcedCategoryRule = 'Checked at each payment: a proof needs one of these categories.'
