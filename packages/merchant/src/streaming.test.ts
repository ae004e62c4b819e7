import { shareTestService } from '../../../service/testing/shared-service.ts'
import { adapters } from '../testing/adapters.ts'
import { streamThrough } from '../testing/stream.ts'

const service = await shareTestService()

for (const { name } of adapters) streamThrough({ adapter: name }, service)
// The others meter like one of these.
for (const adapter of ['node:http', 'Fetch style']) streamThrough({ adapter, capture: 'metered' }, service)
