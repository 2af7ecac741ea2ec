import { WorkerClient } from '../../base/async/worker-client.ts'
import type { CatalogFile, CatalogSkill } from '../../sync/catalog/catalog-file.ts'
import { filesOf } from '../../sync/catalog/skill-files.ts'
import { pathBelow } from '../../sync/model/uris/skill-uri.ts'
import { frontmatterBlock, utf8 } from '../../sync/skill/frontmatter.ts'
import { bytesOf, isUnread } from '../content.ts'
import type { NotNow, ReadContent, RefusedFile } from '../content.ts'
import { TextCache } from '../mcp/rpc/text-cache.ts'
import { mimeTypeOf } from '../mime.ts'
import { escapedText } from './html.ts'
import type { Html } from './html.ts'
import type { Question } from './markdown-worker.ts'
import type { MarkdownDocument } from './markdown.ts'

/** A file for people to read. `document`: rendered Markdown. `text`: the plain text, or its beginning if it is long. */
export type Readable =
  | { readonly kind: 'document' | 'text'; readonly content: Html; readonly isWhole: boolean }
  | { readonly kind: 'binary' | 'damaged' | NotNow | 'too-large' }
  | RefusedFile

/** Renders files of skills, verified by their digests, outside the thread that serves. */
export class FileRenderer implements AsyncDisposable {
  readonly #read: ReadContent
  readonly #thread = new WorkerClient<Question, string | undefined>(new URL('./markdown-worker.js', import.meta.url), {
    deadlineMs: 3_000,
    heapMb: 128,
    waiting: 32,
  })
  readonly #made = new TextCache(2 ** 25)

  constructor(read: ReadContent) {
    this.#read = read
  }

  /** Renders a file of a skill. `asText`: as plain text, even if it is Markdown. */
  async show(skill: CatalogSkill, listed: CatalogFile, asText: boolean): Promise<Readable> {
    if (listed.file.size > READ_BYTES) return { kind: 'too-large' }
    const bytes = await bytesOf(listed, this.#read)
    if (bytes === undefined) return { kind: 'damaged' }
    if (isUnread(bytes)) return bytes === 'not-now' ? { kind: bytes } : bytes
    const text = utf8(bytes)
    if (text === undefined || text.includes('\0')) return { kind: 'binary' }
    const isDocument = !asText && mimeTypeOf(listed.name) === 'text/markdown' && bytes.byteLength <= DOCUMENT_BYTES
    return (isDocument ? await this.#document(skill, listed, bytes) : undefined) ?? this.#text(listed, text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread[Symbol.asyncDispose]()
  }

  /** `undefined` if it takes too long, or the result is too large. */
  async #document(skill: CatalogSkill, listed: CatalogFile, bytes: Uint8Array): Promise<Readable | undefined> {
    const html = await this.#make(`${skill.digest} ${listed.uri}`, () => ({
      ...partsOf(bytes),
      path: pathBelow(skill.root, listed.uri),
      files: linksFrom(skill, listed),
    }))
    return html === undefined ? undefined : { kind: 'document', content: { html }, isWhole: true }
  }

  async #text({ file }: CatalogFile, text: string): Promise<Readable> {
    const shown = text.slice(0, SHOWN_CHARACTERS).toWellFormed()
    const html = await this.#make(file.sha256, () => ({ text: shown }))
    const content = { html: html ?? escapedText(shown) }
    return { kind: 'text', content, isWhole: text.length <= SHOWN_CHARACTERS }
  }

  async #make(key: string, question: () => Question): Promise<string | undefined> {
    const made = this.#made.get(key) ?? (await this.#made.add(key, () => this.#thread.ask(question())))
    return made?.toString('utf8')
  }
}

/** Splits a file into its frontmatter and the rest. */
function partsOf(bytes: Uint8Array): Pick<MarkdownDocument, 'markdown' | 'line' | 'frontmatter'> {
  const block = frontmatterBlock(bytes, bytes.length)
  if (!block.ok) return { markdown: utf8(bytes) ?? '', line: 1, frontmatter: '' }
  const markdown = utf8(bytes.subarray(block.bodyStart)) ?? ''
  const head = Buffer.from(bytes.subarray(0, block.bodyStart)).toString('latin1')
  return { markdown, line: head.split('\n').length, frontmatter: utf8(block.yaml) ?? '' }
}

/** Larger files are not rendered for the page. */
const READ_BYTES = 2 ** 20

/** The largest of two thousand public SKILL.md files has a third of this size. */
const DOCUMENT_BYTES = 2 ** 18

const SHOWN_CHARACTERS = 2 ** 18

/** Returns the files of the skill as links from the page of one file. The page of SKILL.md is the page of the skill. */
function linksFrom(skill: CatalogSkill, { uri }: CatalogFile): ReadonlyMap<string, string> {
  const { uri: document, root } = skill
  const depth = uri.slice(root.length + 1).split('/').length - 1
  const up = depth === 0 ? './' : '../'.repeat(depth)
  return new Map(
    filesOf(skill).map((file) => {
      const below = file.uri === document ? '' : file.uri.slice(root.length + 1)
      return [pathBelow(root, file.uri), up + below]
    }),
  )
}
