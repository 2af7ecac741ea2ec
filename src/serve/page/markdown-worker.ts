import { parentPort } from 'node:worker_threads'
import { visibleText } from './html.ts'
import { renderMarkdown } from './markdown.ts'
import type { MarkdownDocument } from './markdown.ts'

// The thread that converts foreign texts to HTML, because their authors control how long that takes.

/** A text is shown as it is; a document is rendered. */
export type Question = { readonly text: string } | MarkdownDocument

parentPort?.on('message', (question: Question) => {
  const html = 'text' in question ? visibleText(question.text) : renderMarkdown(question)
  parentPort?.postMessage(Buffer.byteLength(html) > MOST_BYTES ? undefined : html, [])
})

/** Limit for the HTML: a table with one row and many columns becomes several times its text. */
const MOST_BYTES = 2 ** 20
