import { foldersAbove } from '../../base/paths.ts'
import type { McpSource } from '../../sync/model/source.ts'
import type { KnownRead, UpstreamFiles } from '../../sync/store/skills/upstream-files.ts'
import type { BudgetedReads } from './budgeted-reads.ts'
import type { FirstReadRecord } from './first-read-record.ts'
import type { UpstreamTexts } from './upstream-texts.ts'
import type { ResourceContents } from './upstream/contents.ts'
import type { CachedFile, FileCache, UnreadFile } from './upstream/file-cache.ts'
import { pathOfUri } from './upstream/listed-files.ts'

export interface FirstReadsParts {
  readonly files: UpstreamFiles
  readonly known: FirstReadRecord
  readonly metered: BudgetedReads
  readonly texts: UpstreamTexts
}

/**
 * The files of one server that declares no digests. Each read counts until the next scheduled check, or until the
 * server notifies of a change.
 */
export class UnverifiedFiles implements FileCache {
  readonly #source: McpSource
  readonly #parts: FirstReadsParts

  constructor(source: McpSource, parts: FirstReadsParts) {
    this.#source = source
    this.#parts = parts
  }

  async read(file: UnreadFile, wants: 'bytes' | 'digest', fetch: () => Promise<ResourceContents>): Promise<CachedFile> {
    const { known, metered } = this.#parts
    const found = await this.#knownOf(file)
    const kept = found !== undefined && known.isFresh(found, file) ? await this.#kept(file, found, wants) : undefined
    if (kept !== undefined) return kept
    const refusal = await metered.spend(file)
    // A notification from here on may concern content newer than this fetch.
    const atMs = known.nowMs()
    if (refusal === undefined) return this.#keepFetched(file, await fetch(), atMs)
    // Served content is not withdrawn because a budget forbids reading it again for up to an hour.
    const stale = found && (await this.#kept(file, found, wants))
    return stale ?? { ok: false, rule: 'not-read', why: refusal }
  }

  async isKnown(file: UnreadFile): Promise<boolean> {
    return (await this.#parts.known.of(file.uri, file)) !== undefined
  }

  async settle(unanswered: ReadonlySet<string>): Promise<void> {
    await this.#parts.known.settle((uri) =>
      [...foldersAbove(pathOfUri(uri) ?? '')].some((path) => unanswered.has(path)),
    )
  }

  async #knownOf(file: UnreadFile): Promise<Pick<KnownRead, 'sha256' | 'size' | 'atMs'> | undefined> {
    const known = await this.#parts.known.of(file.uri, file)
    const { sha256, size } = file
    return sha256 !== undefined && size !== undefined ? { sha256, size, atMs: Infinity } : known
  }

  async #kept(
    { uri }: UnreadFile,
    { sha256, size }: Pick<KnownRead, 'sha256' | 'size'>,
    wants: 'bytes' | 'digest',
  ): Promise<CachedFile | undefined> {
    if (wants === 'digest') return { ok: true, sha256, size, bytes: undefined }
    const kept = await this.#parts.files.read(this.#source.id, { sha256, size })
    if (kept.kind !== 'whole') return undefined
    await this.#learn(uri, sha256, kept.bytes)
    return { ok: true, sha256, size, bytes: kept.bytes }
  }

  async #keepFetched(file: UnreadFile, sent: ResourceContents, atMs: number): Promise<CachedFile> {
    const { files, known, metered } = this.#parts
    const fetched = metered.check(file, sent)
    if (!fetched.ok) return fetched
    const { sha256, bytes } = fetched
    const size = bytes.byteLength
    await this.#learn(file.uri, sha256, bytes)
    await files.keep(this.#source.id, sha256, bytes)
    await known.remember(file.uri, { sha256, size, said: file.said, atMs })
    return { ok: true, sha256, size, bytes }
  }

  /** Searches the text before an entry exists that could be served. */
  async #learn(uri: string, sha256: string, bytes: Uint8Array): Promise<void> {
    const path = uri.endsWith('/SKILL.md') ? 'SKILL.md' : uri
    await this.#parts.texts.learn(this.#source, { path, sha256, called: uri }, bytes)
  }
}
