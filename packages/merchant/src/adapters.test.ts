import { shareTestService } from '../../../service/testing/shared-service.ts'
import { adapters } from '../testing/adapters.ts'
import { playThrough } from '../testing/play.ts'

const service = await shareTestService()

for (const adapter of adapters) playThrough(adapter, service)
