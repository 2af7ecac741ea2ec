import { parentPort } from 'node:worker_threads'
import { documentReading } from '../sync/document-reading.ts'
import type { FrontmatterLimits } from '../sync/model/frontmatter.ts'

// The thread in which documents of others are read that are long, or that say much of themselves.

export interface DocumentQuestion {
  readonly bytes: Uint8Array
  readonly limits: FrontmatterLimits
}

// The YAML reader makes an error of each fault: to note where that was made takes longer than all else, and is of no use.
Error.stackTraceLimit = 0

parentPort?.on('message', ({ bytes, limits }: DocumentQuestion) => {
  parentPort?.postMessage(documentReading(bytes, limits), [])
})
