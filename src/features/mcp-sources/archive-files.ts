import { createHash } from 'node:crypto'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import type { PackedFile } from '../../sync/model/skill.ts'
import type { McpSource } from '../../sync/model/source.ts'
import type { KnownRead, UpstreamFiles } from '../../sync/store/skills/upstream-files.ts'
import { overBudget } from './budgeted-reads.ts'
import type { BudgetedReads } from './budgeted-reads.ts'
import { UNPACKED_BYTES } from './fetch-budget.ts'
import type { FetchBudget } from './fetch-budget.ts'
import type { FirstReadRecord } from './first-read-record.ts'
import type { UpstreamTexts } from './upstream-texts.ts'
import type { UnpackedArchives, OpenedArchive, ArchiveOpening, ReadArchive } from './upstream/archives.ts'
import type { UnreadFile, Unusable } from './upstream/file-cache.ts'

export interface PackedReadsParts {
  readonly files: UpstreamFiles
  readonly known: FirstReadRecord
  readonly metered: BudgetedReads
  readonly spendings: FetchBudget
  readonly texts: UpstreamTexts
}

/** The files from archives of one server. The store holds the files; the archives themselves are not kept. */
export class ArchiveFiles implements UnpackedArchives {
  readonly #source: McpSource
  readonly #parts: PackedReadsParts
  /** Archives that cannot be served, until another one is offered or this process ends. */
  readonly #refusals = new Map<string, Refusal>()
  /** Archives of which a file was lost. */
  readonly #unpacking = new SerialQueue()
  readonly #lost = new Set<string>()

  constructor(source: McpSource, parts: PackedReadsParts) {
    this.#source = source
    this.#parts = parts
  }

  async read(archive: UnreadFile, opening: ArchiveOpening): Promise<ReadArchive> {
    const { known } = this.#parts
    const found = await known.of(keyOf(archive.uri), archive)
    const isWhole = found !== undefined && known.isFresh(found, archive) && !this.#lost.has(archive.uri)
    const kept = isWhole ? await this.#kept(found) : undefined
    if (kept !== undefined) return kept
    const read = this.#refusalOf(archive) ?? (await this.#open(archive, opening))
    // Served content is not withdrawn because a budget forbids reading it again for up to an hour.
    const stale = !read.ok && read.rule === 'not-read' && found !== undefined ? await this.#kept(found) : undefined
    return stale ?? read
  }

  reread(uri: string): void {
    this.#lost.add(uri)
  }

  async #kept({ files = [] }: KnownRead): Promise<ReadArchive | undefined> {
    const document = files.find(({ path }) => path === 'SKILL.md')
    if (document === undefined) return undefined
    const kept = await this.#parts.files.read(this.#source.id, document)
    return kept.kind === 'whole' ? { ok: true, files, document: kept.bytes } : undefined
  }

  async #open(archive: UnreadFile, opening: ArchiveOpening): Promise<ReadArchive> {
    const { known, metered, spendings } = this.#parts
    const { id } = this.#source
    if (spendings.unpackable(id) === 0) return lackOf(0)
    const refusal = await metered.spend(archive)
    if (refusal !== undefined) return notRead(refusal)
    // A notification from here on may concern content newer than this fetch.
    const atMs = known.nowMs()
    const fetched = metered.check(archive, await opening.fetch())
    if (!fetched.ok) return fetched
    // Archives are fetched beside each other, and unpacked one by one: each has the room that those before it left.
    const opened = await this.#unpacking.next(async () => {
      const room = spendings.unpackable(id)
      const unpacked = room === 0 ? undefined : await opening.unpack(fetched.bytes, room)
      spendings.addUnpacked(id, unpacked?.bytes ?? 0)
      return unpacked
    })
    if (opened === undefined) return lackOf(0)
    return opened.ok ? this.#store(archive, { ...fetched, atMs }, opened) : this.#refuse(archive, opened, atMs)
  }

  async #store(
    { uri, said }: UnreadFile,
    archive: { readonly sha256: string; readonly bytes: Uint8Array; readonly atMs: number },
    { files: unpacked, bytes }: Extract<OpenedArchive, { ok: true }>,
  ): Promise<ReadArchive> {
    const { files: store, known, spendings, texts } = this.#parts
    const refusal = await overBudget(spendings.store(this.#source, bytes))
    if (refusal !== undefined) return notRead(refusal)
    const files: PackedFile[] = []
    for (const { path, bytes: content } of unpacked) {
      const sha256 = createHash('sha256').update(content).digest('hex')
      await texts.learn(this.#source, { path, sha256, called: `${uri} ${path}` }, content)
      await store.keep(this.#source.id, sha256, content)
      files.push({ path, sha256, size: content.byteLength })
    }
    const { sha256, bytes: packed, atMs } = archive
    await known.remember(keyOf(uri), { sha256, size: packed.byteLength, said, atMs, files })
    this.#lost.delete(uri)
    const document = unpacked.find(({ path }) => path === 'SKILL.md')?.bytes ?? new Uint8Array()
    return { ok: true, files, document }
  }

  #refuse({ uri, said, sha256 }: UnreadFile, opened: Extract<OpenedArchive, { ok: false }>, atMs: number): Unusable {
    const { spendings } = this.#parts
    const { ok, rule, why, bytes, lacksRoom } = opened
    const room = spendings.unpackable(this.#source.id) + bytes
    const unusable = lacksRoom === true ? lackOf(room) : { ok, rule, why }
    const [oldest] = this.#refusals.keys()
    if (oldest !== undefined && this.#refusals.size >= MOST_REFUSALS) this.#refusals.delete(oldest)
    this.#refusals.set(uri, { said, sha256, atMs, unusable, ...(lacksRoom && { room }) })
    return unusable
  }

  /** The reason why the offered archive cannot be served, if that is known. */
  #refusalOf(archive: UnreadFile): Unusable | undefined {
    const { known, spendings } = this.#parts
    const refusal = this.#refusals.get(archive.uri)
    const isSame = refusal?.said === archive.said && refusal.sha256 === archive.sha256
    if (!isSame || !known.isFresh(refusal, archive)) return undefined
    const hasRoom = refusal.room !== undefined && spendings.unpackable(this.#source.id) > refusal.room
    return hasRoom ? undefined : refusal.unusable
  }
}

interface Refusal {
  readonly said: string
  /** The declared hash. */
  readonly sha256: string | undefined
  readonly atMs: number
  readonly unusable: Unusable
  /** The bytes that were available for unpacking, if they were too few. */
  readonly room?: number
}

const MOST_REFUSALS = 1_024

/** No file has such a URI. */
function keyOf(uri: string): string {
  return `archive ${uri}`
}

function notRead(why: string): Unusable {
  return { ok: false, rule: 'not-read', why }
}

function lackOf(room: number): Unusable {
  const most = `the ${UNPACKED_BYTES} bytes that its archives may come to in an hour`
  return notRead(`of ${most}, ${room} are left, and it comes to more`)
}
