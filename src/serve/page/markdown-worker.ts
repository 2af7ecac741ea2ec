import { parentPort } from 'node:worker_threads'
import { visibleText } from './html.ts'
import { rendered } from './markdown.ts'
import type { Document } from './markdown.ts'

// The thread in which the texts of others are made into HTML: how long that takes is theirs to say.

/** A text is shown as it stands, a document as what it means. */
export type Question = { readonly text: string } | Document

parentPort?.on('message', (question: Question) => {
  const html = 'text' in question ? visibleText(question.text) : rendered(question)
  parentPort?.postMessage(Buffer.byteLength(html) > MOST_BYTES ? undefined : html, [])
})

/** Of the HTML: a table of one row and many columns comes to several times its text. */
const MOST_BYTES = 2 ** 20
