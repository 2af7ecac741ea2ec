import { runInSlices } from '../../../../base/async/cooperative.ts'
import type { Steps } from '../../../../base/async/cooperative.ts'
import { Memo } from '../../../../base/memo.ts'
import type { CatalogSkill } from '../../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import { withoutHidden } from '../../../../sync/skill/hidden-unicode.ts'
import type { ReadContent } from '../../../content.ts'
import { skillEntryOf } from '../files/skill-entry.ts'
import type { Archive, ArchiveCache } from './archive-cache.ts'

/** Hosts warn of any other schema, and the oldest reject a document without one. */
const SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'

/**
 * The document at `skill://index.json`, valid in each of its historical forms. It lists the same skills as
 * `skills/list`, and is built once for each catalog.
 */
export class IndexDocument {
  readonly #archives: ArchiveCache
  readonly #templates: readonly string[]
  readonly #texts = new Memo<Catalog, Promise<readonly string[]>>()
  readonly #bytes = new WeakMap<Catalog, number>()

  /** `templates`: templates that are listed as entries, which not every reader accepts. */
  constructor(archives: ArchiveCache, templates: readonly string[]) {
    this.#archives = archives
    this.#templates = templates
  }

  async text(catalog: Catalog, read: ReadContent): Promise<string> {
    return (await this.pieces(catalog, read)).join('')
  }

  /**
   * Returns the text in pieces, because the whole is too large for one turn of the event loop. No piece ends within a
   * character.
   */
  async pieces(catalog: Catalog, read: ReadContent): Promise<readonly string[]> {
    return this.#texts.of(catalog, () => this.#begin(catalog, read))
  }

  /** The size of the text; 0 before it is built. */
  bytesOf(catalog: Catalog): number {
    return this.#bytes.get(catalog) ?? 0
  }

  async #begin(catalog: Catalog, read: ReadContent): Promise<readonly string[]> {
    try {
      const pieces = await this.#make(catalog, read)
      this.#bytes.set(catalog, await runInSlices(bytesIn(pieces)))
      return pieces
    } catch (error) {
      // Failures are not cached, because they may be temporary.
      this.#texts.forget(catalog)
      throw error
    }
  }

  async #make(catalog: Catalog, read: ReadContent): Promise<readonly string[]> {
    const archives = await runInSlices(this.#archiving(catalog))
    const all = [...archives.values()].flat()
    const digests = await this.#archives.digestsOf(all, read)
    // A damaged file is fetched again, so that the next build has the archive.
    if (digests.size < all.length) this.#texts.forget(catalog)
    const templates = this.#templates.map((url) => ({ type: 'mcp-resource-template', description: SPACE, url }))
    return runInSlices(texting(archives, digests, templates))
  }

  *#archiving(catalog: Catalog): Steps<ReadonlyMap<CatalogSkill, readonly Archive[]>> {
    const archives = new Map<CatalogSkill, readonly Archive[]>()
    for (const skill of catalog.enumerated) {
      archives.set(skill, this.#archives.of(catalog, skill))
      yield
    }
    return archives
  }
}

function* texting(
  archives: ReadonlyMap<CatalogSkill, readonly Archive[]>,
  digests: ReadonlyMap<string, string>,
  templates: readonly object[],
): Steps<readonly string[]> {
  const pieces: string[] = []
  let piece = `{"$schema":${JSON.stringify(SCHEMA)},"skills":[`
  let comma = ''
  for (const [skill, ofSkill] of archives) {
    piece += comma + JSON.stringify(documentEntry(skill, archiveEntries(ofSkill, digests)))
    comma = ','
    if (piece.length >= PIECE) {
      pieces.push(piece)
      piece = ''
    }
    yield
  }
  for (const template of templates) {
    piece += comma + JSON.stringify(template)
    comma = ','
  }
  return [...pieces, `${piece}]}`]
}

/** Characters of a piece, without its last entry. */
const PIECE = 2 ** 16

function* bytesIn(pieces: readonly string[]): Steps<number> {
  let bytes = 0
  for (const piece of pieces) {
    bytes += Buffer.byteLength(piece)
    yield
  }
  return bytes
}

const SPACE = 'Skills by the parts of their path'

function documentEntry(skill: CatalogSkill, archives: readonly object[]): object {
  const { uri, frontmatter, resources } = skillEntryOf(skill)
  const digest = resources.find((resource) => resource.uri === uri)?.digest
  const [name, description] = [withoutHidden(skill.name), withoutHidden(skill.description)]
  const oldest = { type: 'skill-md', name, description, url: uri, digest }
  return { ...oldest, uri, frontmatter, resources, ...(archives.length > 0 && { archives }) }
}

function archiveEntries(archives: readonly Archive[], digests: ReadonlyMap<string, string>): object[] {
  return archives.flatMap(({ uri, mimeType }) => {
    const digest = digests.get(uri)
    return digest === undefined ? [] : [{ url: uri, mimeType, digest }]
  })
}
