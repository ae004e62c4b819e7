/** A clock that runs faster than the machine's, so that a proof's minutes pass in seconds. */
export interface ServiceClock {
  /** When both clocks showed the same time. */
  readonly originMs: number
  readonly speed: number
}

/** The environment variable with a service process's clock. */
export const clockVariable = 'PURSER_TEST_CLOCK'

/** The clock's time in whole milliseconds; the same in every process of a machine. */
export function readClock({ originMs, speed }: ServiceClock, machineMs: number): number {
  return Math.floor(originMs + (machineMs - originMs) * speed)
}
