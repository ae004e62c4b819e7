#!/usr/bin/env node
/** The `purser` command: `purser --help` lists what it does. */

import { runCommand } from './commands/run-command.ts'

process.exitCode = await runCommand(process.argv.slice(2), {
  environment: process.env,
  folder: process.cwd(),
  isWatched: process.stderr.isTTY,
  print: (text) => console.log(text),
  printError: (text) => console.error(text),
  overwrite: (line) => void process.stderr.write(`\r\u001b[2K${line}`),
})
