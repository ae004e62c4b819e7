/** The exports of `@purser/mcp`; its command is `purser-mcp`. */
export { serveHttp, type HttpOptions, type RunningHttp } from './http/serve-http.ts'
export { createMcpServer, type McpServerOptions } from './mcp-server.ts'
export { openRecordFiles } from './purchases/record-files.ts'
export {
  createRecordsInMemory,
  type PurchaseRecord,
  type PurchaseRecords,
} from './purchases/purchase-records.ts'
export { openWallet, type Wallet, type WalletOptions } from './wallet.ts'
