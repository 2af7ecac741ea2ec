import { parentPort } from 'node:worker_threads'
import type { DocumentReading } from '../../sync/skill/document-reader.ts'
import type { FrontmatterLimits } from '../../sync/skill/frontmatter.ts'
import type { HiddenText } from '../../sync/skill/hidden-unicode.ts'
import { documentReading, linkedPathsIn } from '../../sync/survey/document-reading.ts'
import { hiddenInText } from '../../sync/survey/listing-hidden-text.ts'

// The worker thread that reads foreign documents that are long or have much frontmatter.

/**
 * A document to read, a document to search for links, or a file to search for hidden characters, with its path in the
 * skill.
 */
export type DocumentQuestion =
  | { readonly bytes: Uint8Array; readonly limits: FrontmatterLimits }
  | { readonly document: Uint8Array }
  | { readonly bytes: Uint8Array; readonly path: string }

export type DocumentAnswer =
  | DocumentReading
  | { readonly linked: readonly string[] }
  | { readonly found: HiddenText | undefined }

// The YAML reader creates an error for each fault. Capturing the stack takes longer than everything else, and is
// useless.
Error.stackTraceLimit = 0

parentPort?.on('message', (question: DocumentQuestion) => {
  parentPort?.postMessage(answerTo(question), [])
})

function answerTo(question: DocumentQuestion): DocumentAnswer {
  if ('limits' in question) return documentReading(question.bytes, question.limits)
  if ('document' in question) return { linked: linkedPathsIn(question.document) }
  return { found: hiddenInText(question, question.bytes) }
}
