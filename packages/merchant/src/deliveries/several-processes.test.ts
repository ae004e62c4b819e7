import { sharedByProcesses } from '../../testing/several-processes.ts'

for (const kind of ['file', 'sqlite']) sharedByProcesses(kind)
