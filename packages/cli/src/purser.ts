#!/usr/bin/env node
/** The `purser` command: `purser --help` lists what it does. */

import { processIo } from './process-io.ts'
import { runPurser } from './run-purser.ts'

process.exitCode = await runPurser(process.argv.slice(2), processIo())
