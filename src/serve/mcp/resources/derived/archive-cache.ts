import { createHash } from 'node:crypto'
import { inSlices } from '../../../../base/async/cooperative.ts'
import { SerialQueue } from '../../../../base/async/serial-queue.ts'
import type { CatalogSkill } from '../../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import { filesOf } from '../../../../sync/catalog/skill-files.ts'
import { declarationOf } from '../../../../sync/model/decisions/approvals.ts'
import { comparePaths, digestOf } from '../../../../sync/model/digest.ts'
import { pathBelow } from '../../../../sync/model/uris/skill-uri.ts'
import { bytesOf, isUnread } from '../../../content.ts'
import type { ReadContent, UnreadContent } from '../../../content.ts'
import { gzipBytes } from './deflate.ts'
import { tarOf, ustarNameOf } from './tar.ts'
import type { ArchiveEntry } from './tar.ts'
import { MAX_ZIP_ENTRIES, zipOf } from './zip.ts'

/** The archive formats of revisions before July 2026, as the suffix of their URIs. */
export const ARCHIVE_FORMATS = ['tar.gz', 'zip'] as const
export type ArchiveFormat = (typeof ARCHIVE_FORMATS)[number]

/** One archive of a skill: all files of its entry, and nothing else. */
export interface Archive {
  readonly uri: string
  readonly format: ArchiveFormat
  readonly mimeType: string
  readonly skill: CatalogSkill
}

/**
 * The available archives and their digests. An archive is built when it is read, one at a time, and is not cached: the
 * files of a skill decide every byte of it.
 */
export class ArchiveCache {
  readonly #formats: readonly ArchiveFormat[]
  /** The digests of the archives in the last index, by content key. */
  #digests: ReadonlyMap<string, string> = new Map()
  /** Archives that are being built, or wait to be built. */
  readonly #running = new Map<string, Promise<Buffer | UnreadContent>>()
  readonly #making = new SerialQueue()
  readonly #digesting = new SerialQueue()

  /** `formats`: those that are offered; none if archives are not. */
  constructor(formats: readonly ArchiveFormat[]) {
    this.#formats = formats
  }

  of(catalog: Catalog, skill: CatalogSkill): Archive[] {
    return this.#formats
      .filter((format) => noArchiveReason(catalog, skill, format) === undefined)
      .map((format) => ({ uri: uriOfArchive(skill, format), format, mimeType: MIME_TYPES[format], skill }))
  }

  find(catalog: Catalog, uri: string): Archive | undefined {
    const format = ARCHIVE_FORMATS.find((candidate) => uri.endsWith(`.${candidate}`))
    const skill = format && catalog.skills.get(`${uri.slice(0, -format.length - 1)}/SKILL.md`)
    return skill && this.of(catalog, skill).find((archive) => archive.uri === uri)
  }

  /**
   * Builds an archive; `undefined` if one of its files is damaged. Concurrent reads share one build, so the queue is
   * never longer than the number of archives.
   */
  async bytesOf(archive: Archive, read: ReadContent): Promise<Buffer | UnreadContent> {
    const content = contentKeyOf(archive)
    const running = this.#running.get(content)
    if (running !== undefined) return running
    const made = this.#making.next(() => make(archive, read)).finally(() => this.#running.delete(content))
    this.#running.set(content, made)
    return made
  }

  /** Returns the digests by URI, without archives that cannot be built at the moment. */
  async digestsOf(archives: readonly Archive[], read: ReadContent): Promise<ReadonlyMap<string, string>> {
    // The next catalog has most archives of this one: parallel work would build them twice.
    return this.#digesting.next(() => this.#digestsOf(archives, read))
  }

  async #digestsOf(archives: readonly Archive[], read: ReadContent): Promise<ReadonlyMap<string, string>> {
    const known = this.#digests
    const byContent = new Map<string, string>()
    const byUri = new Map<string, string>()
    await inSlices(archives, async (archive) => {
      const content = contentKeyOf(archive)
      const digest = byContent.get(content) ?? known.get(content) ?? sha256(await this.bytesOf(archive, read))
      if (digest === undefined) return
      byContent.set(content, digest)
      byUri.set(archive.uri, digest)
    })
    this.#digests = byContent
    return byUri
  }
}

/** Returns the reason why a skill has no archive in a format. `undefined` if it has one. */
export function noArchiveReason(catalog: Catalog, skill: CatalogSkill, format: ArchiveFormat): string | undefined {
  const uri = uriOfArchive(skill, format)
  if (catalog.files.has(uri) || catalog.folders.has(uri)) return `a file of the repository is served as ${uri}`
  if (skill.skill.size > MAX_BYTES) return `its ${skill.skill.size} bytes are over the ${MAX_BYTES} of an archive`
  return format === 'tar.gz' ? noTarReason(skill) : noZipReason(skill)
}

/** An archive is built in memory. A skill reaches this size only if the operator raised the limit for skills. */
const MAX_BYTES = 2 ** 28

function noTarReason(skill: CatalogSkill): string | undefined {
  const paths = filesOf(skill).map(({ uri }) => pathBelow(skill.root, uri))
  const path = paths.find((name) => ustarNameOf(name) === undefined)
  return path === undefined ? undefined : `the tar format cannot hold a name as long as "${path}"`
}

function noZipReason({ skill: { files } }: CatalogSkill): string | undefined {
  return files.length > MAX_ZIP_ENTRIES ? `the zip format cannot hold ${files.length} files` : undefined
}

function uriOfArchive({ root }: CatalogSkill, format: ArchiveFormat): string {
  return `${root}.${format}`
}

const MIME_TYPES: Readonly<Record<ArchiveFormat, string>> = {
  'tar.gz': 'application/gzip',
  zip: 'application/zip',
}

/**
 * Equal keys mean equal bytes. Skills of another MCP server are verified against their own entry. A nested skill can be
 * served under a name that differs from its folder.
 */
function contentKeyOf({ format, skill }: Archive): string {
  const files = filesOf(skill).map(({ uri, file: { executable, size, sha256 } }) => {
    return { path: pathBelow(skill.root, uri), executable, size, sha256 }
  })
  const checkedBy = skill.skill.upstream === undefined ? '' : `${skill.root} ${declarationOf(skill.skill)}`
  return `${format} ${digestOf(files)} ${checkedBy}`
}

async function make({ skill, format }: Archive, read: ReadContent): Promise<Buffer | UnreadContent> {
  const entries: ArchiveEntry[] = []
  for (const listed of filesOf(skill)) {
    const bytes = await bytesOf(listed, read)
    if (isUnread(bytes)) return bytes
    entries.push({ path: pathBelow(skill.root, listed.uri), executable: listed.file.executable, bytes })
  }
  entries.sort((a, b) => comparePaths(a.path, b.path))
  return format === 'tar.gz' ? gzipBytes(tarOf(entries)) : zipOf(entries, 'deflated')
}

function sha256(bytes: Buffer | UnreadContent): string | undefined {
  if (isUnread(bytes)) return undefined
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
