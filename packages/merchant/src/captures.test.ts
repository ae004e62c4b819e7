import { after } from 'node:test'

import { startTestService } from '../../../service/testing/service.ts'
import { adapters } from '../testing/adapters.ts'
import { captureScenarios } from '../testing/capture-scenarios.ts'
import { playThrough } from '../testing/play.ts'

const service = await startTestService({ after })

for (const adapter of adapters) playThrough(adapter, service, captureScenarios)
