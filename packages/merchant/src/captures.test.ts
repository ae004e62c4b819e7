import { shareTestService } from '../../../service/testing/shared-service.ts'
import { adapters } from '../testing/adapters.ts'
import { captureScenarios } from '../testing/capture-scenarios.ts'
import { playThrough } from '../testing/play.ts'

const service = await shareTestService()

for (const adapter of adapters) playThrough(adapter, service, captureScenarios)
