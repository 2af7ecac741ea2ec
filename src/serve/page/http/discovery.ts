import { createHash } from 'node:crypto'
import type { CatalogFile } from '../../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { filesToInstall, folderSkillsIn, isReadByInstallers } from '../../../sync/catalog/folder-skills.ts'
import { withoutHidden } from '../../../sync/skill-md/hidden-unicode.ts'
import { inSlices, sorting, stepByStep } from '../../../base/cooperative.ts'
import { bytesOf, isUnread } from '../../content.ts'
import type { ReadFile, Unread } from '../../content.ts'
import { installNames } from './install-names.ts'
import type { Installed } from './install-names.ts'
import type { Registry } from '../../registry.ts'
import type { ArchiveEntry } from '../../mcp/resources/tar.ts'
import { Turns } from '../../../base/serial-queue.ts'
import { MAX_ZIP_BYTES, MAX_ZIP_ENTRIES, zipOf } from '../../mcp/resources/zip.ts'

/** Agent Skills discovery 0.2.0: the version of the document. It is compared, never fetched. */
const SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'

/** What is announced of some bytes before they are asked for. */
export interface Announced {
  readonly sha256: string
  readonly size: number
}

/** A document that lists what can be installed. */
export interface Listing extends Announced {
  readonly json: Buffer
}

/** What can be installed by name, out of one catalog. */
export interface Installable {
  /** By each name that leads to one, listed or not. */
  readonly skills: ReadonlyMap<string, Installed>
  readonly listing: Listing
}

/** What installers are answered from. */
export interface DiscoveryParts {
  readonly registry: Registry
  readonly read: ReadFile
  /** Milliseconds that only ever go up. */
  readonly now: () => number
}

/** The skills of the lists, and those for tools alone under the names of their folders, for installers: they know HTTP, names and files. */
export class Discovery {
  readonly #registry: Registry
  readonly #read: ReadFile
  /** The path below which all of it is answered, with a slash at its end. */
  readonly #base: string
  /** Of archives, by the digests of their skills. Those of the catalog in use alone. */
  #archives: ReadonlyMap<string, Announced> = new Map()
  /** Milliseconds that only ever go up. */
  readonly #now: () => number
  readonly #making = new Turns()
  #latest: Build | undefined

  constructor({ registry, read, now }: DiscoveryParts, base: string) {
    this.#registry = registry
    this.#read = read
    this.#now = now
    this.#base = base
  }

  /** Of the catalog being served. Whoever asks meanwhile waits for the same. */
  async installable(): Promise<Installable> {
    const { catalog } = this.#registry
    if (this.#latest?.catalog !== catalog || this.#latest.againAtMs <= this.#now()) this.#latest = this.#begin(catalog)
    return this.#latest.installable
  }

  #begin(catalog: Catalog): Build {
    const installable = this.#build(catalog)
    const build: Build = { catalog, installable, againAtMs: Infinity }
    installable.then(
      // One that is damaged now may be mended: its neighbours do not wait for it.
      ({ isWhole }) => (build.againAtMs = isWhole ? Infinity : this.#now() + AGAIN_MS),
      // Whoever asks next is not told of a failure that may be over.
      () => (build.againAtMs = -Infinity),
    )
    return build
  }

  /** The archive of a skill; undefined where one of its files is damaged. One is made at a time, whoever asks. */
  async archiveOf(skill: Installed, signal?: AbortSignal): Promise<Buffer | Unread> {
    return this.#making.next(() => this.#make(skill), signal)
  }

  async #make(skill: Installed): Promise<Buffer | Unread> {
    const files: ArchiveEntry[] = []
    for (const listed of filesToInstall(skill)) {
      const bytes = await bytesOf(listed, this.#read)
      if (isUnread(bytes)) return bytes
      files.push({ path: listed.file.path, executable: listed.file.executable, bytes })
    }
    // Stored: what an index announces has to be made before anybody asks for it.
    return zipOf(files, 'stored')
  }

  /** What is announced of the archive of a skill, which is made where it is not known yet. */
  async announced(skill: Installed, signal?: AbortSignal): Promise<Announced | Unread> {
    const known = this.#archives.get(skill.digest)
    if (known !== undefined) return known
    if (!hasArchive(skill)) return undefined
    const archive = await this.archiveOf(skill, signal)
    return isUnread(archive) ? archive : announcedOf(archive)
  }

  /** `isWhole` is false where a skill is left out that may be there later. */
  async #build(catalog: Catalog): Promise<Installable & { readonly isWhole: boolean }> {
    const { listed, besides, places } = await stepByStep(
      installNames(catalog.listed.filter(isReadByInstallers), folderSkillsIn(catalog).filter(isReadByInstallers)),
    )
    const inOrder = await stepByStep(sorting([...listed], ([a], [b]) => (a < b ? -1 : 1)))
    const archives = new Map<string, Announced>()
    const listing = new OpenListing()
    let isWhole = true
    // One after the other: the files of one skill are in memory at a time.
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
   * Discovery 0.2.0, and more: clients of 0.1.0 read `files`, one of them asks for them again where `version` moved; and
   * `resources` has the digest of each file, as `skills/list` has it.
   */
  #entryOf(name: string, skill: Installed, archive: Announced | undefined): object {
    const { uri, source, digest: version } = skill
    const files = filesToInstall(skill)
    const [document] = files
    const artifact = archive ?? document?.file
    return {
      name,
      type: archive === undefined ? 'skill-md' : 'archive',
      description: clipped(withoutHidden(skill.description)),
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

/** The URIs of one content, where it lies in several places. */
function placesIn(places: readonly string[] | undefined): { readonly places?: readonly string[] } {
  return places === undefined ? {} : { places }
}

/** What can be installed, as it is made or was. */
interface Build {
  readonly catalog: Catalog
  readonly installable: Promise<Installable>
  /** When it is made again, though the catalog is the same. */
  againAtMs: number
}

/** How long one waits that is damaged: to look for it again costs a read of all that it has. */
const AGAIN_MS = 10_000

/** Whether the format can hold it, if nothing of it is damaged. */
function hasArchive({ skill }: Installed): boolean {
  return skill.files.length <= MAX_ZIP_ENTRIES && skill.size <= MAX_ZIP_BYTES
}

function isSingle({ skill }: Installed): boolean {
  return skill.files.length === 1
}

/** Installers count what a character takes in UTF-16, and pass over a skill with more. */
function clipped(description: string): string {
  return description.length <= 1024 ? description : `${description.slice(0, 1023).toWellFormed()}…`
}

/** A listing that entries come into: of thousands its text is made, and its digest, entry by entry. */
class OpenListing {
  readonly #pieces: Buffer[] = []
  readonly #hash = createHash('sha256')
  #separator = `{"$schema":${JSON.stringify(SCHEMA)},"skills":[`

  add(entry: object): void {
    this.#put(this.#separator + JSON.stringify(entry))
    this.#separator = ','
  }

  close(): Listing {
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
