import { after } from 'node:test'

import { startTestService } from '../../../service/testing/service.ts'
import { captureScenarios } from '../testing/capture-scenarios.ts'
import { buildNext, serveNext } from '../testing/next-adapter.ts'
import { playThrough } from '../testing/play.ts'
import { streamThrough } from '../testing/stream.ts'

const service = await startTestService({ after })
const build = await buildNext({ after })

const served = await serveNext({ after }, build)

playThrough(served, service)
playThrough(served, service, captureScenarios)
streamThrough({ adapter: 'Next', nextBuild: build }, service)
