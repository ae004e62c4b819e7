import { after } from 'node:test'

import { startTestService } from '../../../service/testing/service.ts'
import { startNextAdapter } from '../testing/next-adapter.ts'
import { playThrough } from '../testing/play.ts'

const service = await startTestService({ after })

playThrough(await startNextAdapter({ after }), service)
