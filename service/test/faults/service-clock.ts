/** A clock that runs faster than the machine's, so that a proof's minutes pass in seconds. */
export interface ServiceClock {
  /** When both clocks showed the same. */
  readonly originMs: number
  readonly speed: number
}

/** The variable in which a service process finds its clock. */
export const clockVariable = 'PURSER_TEST_CLOCK'

/** The time that the clock shows, in whole milliseconds; the same in every process of a machine. */
export function readClock({ originMs, speed }: ServiceClock, machineMs: number): number {
  return Math.floor(originMs + (machineMs - originMs) * speed)
}
