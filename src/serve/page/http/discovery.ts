import { createHash } from 'node:crypto'
import { inSlices, sorting, runInSlices } from '../../../base/async/cooperative.ts'
import { SerialQueue } from '../../../base/async/serial-queue.ts'
import type { CatalogFile } from '../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { filesToInstall } from '../../../sync/catalog/folder-skills.ts'
import { installNamesIn } from '../../../sync/catalog/install-names.ts'
import type { InstallableSkill } from '../../../sync/catalog/install-names.ts'
import { withoutHidden } from '../../../sync/skill/hidden-unicode.ts'
import { bytesOf, isUnread } from '../../content.ts'
import type { ReadContent, UnreadContent } from '../../content.ts'
import type { ArchiveEntry } from '../../mcp/resources/derived/tar.ts'
import { MAX_ZIP_BYTES, MAX_ZIP_ENTRIES, zipOf } from '../../mcp/resources/derived/zip.ts'
import type { Registry } from '../../registry.ts'

/** Agent Skills discovery 0.2.0: the version of the document. Clients compare this URL and never fetch it. */
const SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'

/** The digest and size of content, known before it is read. */
export interface Announced {
  readonly sha256: string
  readonly size: number
}

/** A document that lists the installable skills. */
export interface DiscoveryDocument extends Announced {
  readonly json: Buffer
}

/** The skills of one catalog that can be installed by name. */
export interface Installable {
  /** The skills by every valid name, listed or not. */
  readonly skills: ReadonlyMap<string, InstallableSkill>
  readonly listing: DiscoveryDocument
}

/** The parts behind the discovery. */
export interface DiscoveryParts {
  readonly registry: Registry
  readonly read: ReadContent
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
}

/**
 * Offers skills to installers, which know only HTTP, names and files. It offers the listed skills, and those for tools
 * only under the names of their folders.
 */
export class Discovery {
  readonly #registry: Registry
  readonly #read: ReadContent
  /** The path of all these files, with a trailing slash. */
  readonly #base: string
  /** The archives by the digests of their skills, of the current catalog only. */
  #archives: ReadonlyMap<string, Announced> = new Map()
  /** A monotonic clock in milliseconds. */
  readonly #now: () => number
  readonly #making = new SerialQueue()
  #latest: Build | undefined

  constructor({ registry, read, now }: DiscoveryParts, base: string) {
    this.#registry = registry
    this.#read = read
    this.#now = now
    this.#base = base
  }

  /** Returns the installable skills of the served catalog. Concurrent callers share one build. */
  async installable(): Promise<Installable> {
    const { catalog } = this.#registry
    if (this.#latest?.catalog !== catalog || this.#latest.againAtMs <= this.#now()) this.#latest = this.#begin(catalog)
    return this.#latest.installable
  }

  #begin(catalog: Catalog): Build {
    const installable = this.#build(catalog)
    const build: Build = { catalog, installable, againAtMs: Infinity }
    installable.then(
      // A damaged skill may be repaired later: the others do not wait for it.
      ({ isWhole }) => (build.againAtMs = isWhole ? Infinity : this.#now() + AGAIN_MS),
      // Failures are not cached, because they may be temporary.
      () => (build.againAtMs = -Infinity),
    )
    return build
  }

  /** Builds the archive of a skill, one at a time for all callers; `undefined` if one of its files is damaged. */
  async archiveOf(skill: InstallableSkill, signal?: AbortSignal): Promise<Buffer | UnreadContent> {
    return this.#making.next(() => this.#make(skill), signal)
  }

  async #make(skill: InstallableSkill): Promise<Buffer | UnreadContent> {
    const files: ArchiveEntry[] = []
    for (const listed of filesToInstall(skill)) {
      const bytes = await bytesOf(listed, this.#read)
      if (isUnread(bytes)) return bytes
      files.push({ path: listed.file.path, executable: listed.file.executable, bytes })
    }
    // Stored without compression: an index needs the digest of each archive before any client requests it.
    return zipOf(files, 'stored')
  }

  /** Returns the digest and size of a skill's archive; builds the archive if they are not known. */
  async announced(skill: InstallableSkill, signal?: AbortSignal): Promise<Announced | UnreadContent> {
    const known = this.#archives.get(skill.digest)
    if (known !== undefined) return known
    if (!hasArchive(skill)) return undefined
    const archive = await this.archiveOf(skill, signal)
    return isUnread(archive) ? archive : announcedOf(archive)
  }

  /** `isWhole` is false if an omitted skill may be available later. */
  async #build(catalog: Catalog): Promise<Installable & { readonly isWhole: boolean }> {
    const { listed, besides, places } = await installNamesIn(catalog)
    const inOrder = await runInSlices(sorting([...listed], ([a], [b]) => (a < b ? -1 : 1)))
    const archives = new Map<string, Announced>()
    const listing = new OpenListing()
    let isWhole = true
    // One after another, so that memory holds the files of one skill at a time.
    await inSlices(inOrder, async ([name, skill]) => {
      const announced = isSingle(skill) ? undefined : await this.announced(skill)
      const archive = isUnread(announced) ? undefined : announced
      if (archive !== undefined) archives.set(skill.digest, archive)
      if (archive !== undefined || isSingle(skill))
        listing.add({ ...this.#entryOf(name, skill, archive), ...placesIn(places.get(name)) })
      else if (hasArchive(skill)) isWhole = false
    })
    this.#archives = archives
    return { isWhole, skills: new Map([...besides, ...listed]), listing: listing.close() }
  }

  /**
   * Builds an entry of discovery 0.2.0 with additional fields. Clients of 0.1.0 read `files`, and one of them downloads
   * them again if `version` has changed. `resources` has the digest of each file, as in `skills/list`.
   */
  #entryOf(name: string, skill: InstallableSkill, archive: Announced | undefined): object {
    const { uri, source, digest: version } = skill
    const files = filesToInstall(skill)
    const [document] = files
    const artifact = archive ?? document?.file
    return {
      name,
      type: archive === undefined ? 'skill-md' : 'archive',
      description: clip(withoutHidden(skill.description)),
      url: this.#base + (archive === undefined ? `${name}/SKILL.md` : `${name}.zip`),
      digest: `sha256:${artifact?.sha256}`,
      version,
      files: files.map(({ file }) => file.path),
      resources: files.map((file) => this.#resourceOf(name, file)),
      source,
      uri,
    }
  }

  #resourceOf(name: string, { file: { path, size, sha256 } }: CatalogFile): object {
    const url = `${this.#base}${name}/${path.split('/').map(encodeURIComponent).join('/')}`
    return { path, url, digest: `sha256:${sha256}`, size }
  }
}

/** The URIs of equal content, if it has several places. */
function placesIn(places: readonly string[] | undefined): { readonly places?: readonly string[] } {
  return places === undefined ? {} : { places }
}

/** The installable skills of a catalog, built or being built. */
interface Build {
  readonly catalog: Catalog
  readonly installable: Promise<Installable>
  /** The time of the next build for the same catalog. */
  againAtMs: number
}

/** Delay before a damaged skill is tried again: each attempt reads all of its files. */
const AGAIN_MS = 10_000

/** True if the format can hold the skill, damaged or not. */
function hasArchive({ skill }: InstallableSkill): boolean {
  return skill.files.length <= MAX_ZIP_ENTRIES && skill.size <= MAX_ZIP_BYTES
}

function isSingle({ skill }: InstallableSkill): boolean {
  return skill.files.length === 1
}

/** Installers count UTF-16 units, and skip a skill with a longer description. */
function clip(description: string): string {
  return description.length <= 1024 ? description : `${description.slice(0, 1023).toWellFormed()}…`
}

/** A listing to which entries are added: the text and digest of thousands of entries are built one by one. */
class OpenListing {
  readonly #pieces: Buffer[] = []
  readonly #hash = createHash('sha256')
  #separator = `{"$schema":${JSON.stringify(SCHEMA)},"skills":[`

  add(entry: object): void {
    this.#put(this.#separator + JSON.stringify(entry))
    this.#separator = ','
  }

  close(): DiscoveryDocument {
    this.#put(this.#pieces.length === 0 ? `${this.#separator}]}\n` : ']}\n')
    const json = Buffer.concat(this.#pieces)
    return { json, sha256: this.#hash.digest('hex'), size: json.length }
  }

  #put(text: string): void {
    const piece = Buffer.from(text)
    this.#hash.update(piece)
    this.#pieces.push(piece)
  }
}

function announcedOf(bytes: Uint8Array): Announced {
  return { sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length }
}
