import { after } from 'node:test'

import { startTestService } from '../../../service/testing/service.ts'
import { buildNext, serveNext } from '../testing/next-adapter.ts'
import { playThrough } from '../testing/play.ts'
import { streamThrough } from '../testing/stream.ts'

const service = await startTestService({ after })
const build = await buildNext({ after })

playThrough(await serveNext({ after }, build), service)
streamThrough({ adapter: 'Next', nextBuild: build }, service)
