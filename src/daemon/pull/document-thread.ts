import { abortable } from '../../base/async/abortable.ts'
import { WorkerClient } from '../../base/async/worker-client.ts'
import type { ThreadLimits } from '../../base/async/worker-client.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { DocumentReader, DocumentReading } from '../../sync/skill/document-reader.ts'
import { frontmatterBlock } from '../../sync/skill/frontmatter.ts'
import type { FrontmatterLimits } from '../../sync/skill/frontmatter.ts'
import type { HiddenText } from '../../sync/skill/hidden-unicode.ts'
import { documentReading, linkedPathsIn } from '../../sync/survey/document-reading.ts'
import { hiddenInText } from '../../sync/survey/listing-hidden-text.ts'
import type { DocumentAnswer, DocumentQuestion } from './document-worker.ts'

/**
 * Reads documents without blocking clients. Quick documents are read here, since passing them to a thread takes longer;
 * others are read in a thread, with the same result. A pull sends one document at a time, so that concurrent pulls take
 * turns.
 */
export class DocumentThread implements DocumentReader, AsyncDisposable {
  readonly #limits: ThreadLimits
  readonly #thread: WorkerClient<DocumentQuestion, DocumentAnswer>

  /** With the defaults, the worst document within the limits takes half a second. */
  constructor(limits: ThreadLimits = THREAD_LIMITS, script = new URL('./document-worker.js', import.meta.url)) {
    this.#limits = limits
    this.#thread = new WorkerClient(script, limits)
  }

  async read(bytes: Uint8Array, limits: FrontmatterLimits, signal: AbortSignal): Promise<DocumentReading> {
    if (isQuick(bytes, limits)) return documentReading(bytes, limits)
    signal.throwIfAborted()
    return abortable(this.#readAside({ bytes: byItself(bytes), limits }), signal)
  }

  async hiddenIn(path: string, bytes: Uint8Array, signal: AbortSignal): Promise<HiddenText | undefined> {
    if (bytes.length <= QUICK_SEARCH_BYTES) return hiddenInText({ path }, bytes)
    signal.throwIfAborted()
    return abortable(this.#searchAside({ bytes: byItself(bytes), path }), signal)
  }

  async linkedIn(bytes: Uint8Array, signal: AbortSignal): Promise<readonly string[]> {
    if (bytes.length <= QUICK_BYTES) return linkedPathsIn(bytes)
    signal.throwIfAborted()
    return abortable(this.#linkedAside(byItself(bytes)), signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread[Symbol.asyncDispose]()
  }

  async #readAside(question: {
    readonly bytes: Uint8Array
    readonly limits: FrontmatterLimits
  }): Promise<DocumentReading> {
    const end = await this.#put(question)
    if (end.kind === 'unanswered') return unfinishedReading(this.#limits)
    // If the system has no thread left, the document is read here: the result must not depend on that.
    if (end.kind !== 'answered' || !('frontmatter' in end.answer))
      return documentReading(question.bytes, question.limits)
    return end.answer
  }

  async #searchAside(question: { readonly bytes: Uint8Array; readonly path: string }): Promise<HiddenText | undefined> {
    const end = await this.#put(question)
    if (end.kind === 'unanswered') throw unsearchedError(question.path, this.#limits)
    if (end.kind !== 'answered' || !('found' in end.answer)) return hiddenInText(question, question.bytes)
    return end.answer.found
  }

  async #linkedAside(document: Uint8Array): Promise<readonly string[]> {
    const end = await this.#put({ document })
    if (end.kind === 'unanswered') return []
    if (end.kind !== 'answered' || !('linked' in end.answer)) return linkedPathsIn(document)
    return end.answer.linked
  }

  async #put(question: DocumentQuestion): ReturnType<WorkerClient<DocumentQuestion, DocumentAnswer>['put']> {
    let end = await this.#thread.put(question)
    for (let attempt = 1; attempt < ATTEMPTS && end.kind === 'unanswered'; attempt += 1)
      end = await this.#thread.put(question)
    return end
  }
}

const THREAD_LIMITS: ThreadLimits = { deadlineMs: 10_000, heapMb: 256, waiting: Infinity }

/** A process that was suspended finds the deadline expired when it resumes. */
const ATTEMPTS = 2

/** A byte of frontmatter can cost a hundred times as much as a byte after it. */
const QUICK_YAML_BYTES = 2_048
const QUICK_BYTES = 32_768

/** Each hidden character takes a microsecond to find. */
const QUICK_SEARCH_BYTES = 16_384

function isQuick(bytes: Uint8Array, limits: FrontmatterLimits): boolean {
  if (bytes.length > QUICK_BYTES) return false
  const block = frontmatterBlock(bytes, limits.bytes)
  return !block.ok || block.yaml.length <= QUICK_YAML_BYTES
}

/** Copies the bytes to their own buffer: a view would be transferred with its whole buffer. */
function byItself(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
}

function unfinishedReading({ deadlineMs, heapMb }: ThreadLimits): DocumentReading {
  const message = `SKILL.md is not read: it needs over ${deadlineMs / 1_000} s, or over ${heapMb} MB of memory`
  const frontmatter = { ok: false, rule: 'frontmatter-too-large', message, isUnfinished: true } as const
  return { frontmatter, unrendered: [], lookAlikes: undefined, unsearched: 0, hidden: undefined }
}

function unsearchedError(path: string, { deadlineMs, heapMb }: ThreadLimits): SyncError {
  const why = `it needs over ${deadlineMs / 1_000} s, or over ${heapMb} MB of memory`
  return new SyncError('limit-exceeded', `Cannot look for hidden characters in "${path}": ${why}`)
}
