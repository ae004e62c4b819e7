// Loaded into a service process before its own code: the process then uses the clock of the run.
import { clockVariable, readClock, type ServiceClock } from './service-clock.ts'

const clock = JSON.parse(process.env[clockVariable] ?? '{"originMs":0,"speed":1}') as ServiceClock
const machineNow = Date.now
Date.now = () => readClock(clock, machineNow())
