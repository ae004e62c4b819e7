import { readSpecMap, renderSpecMap } from './spec-map.ts'

process.stdout.write(renderSpecMap(readSpecMap()))
