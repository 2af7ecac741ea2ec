import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../../base/json-value.ts'
import { sha256In } from '../../../sync/model/declared-digest.ts'
import { tooManyFiles } from '../../../sync/model/skill.ts'
import { pathsBeside } from '../../../sync/model/uris/upstream-uri.ts'
import { frontmatterBy } from '../../../sync/skill/document-reader.ts'
import { frontmatterOf } from '../../../sync/skill/frontmatter.ts'
import type { SkillDiagnostic } from '../../../sync/skill/skill-diagnostic.ts'
import { fetchFile } from './fetch-file.ts'
import type { CachedFile, UnreadFile } from './file-cache.ts'
import type { UnexpectedFiles } from './file-lists.ts'
import type { ListedFile } from './listed-files.ts'
import { pathOfUri, skillPathOf } from './listed-files.ts'
import { entryFinding, unansweredEntry } from './listing-context.ts'
import type { ListingContext, MadeEntry } from './listing-context.ts'

/** An index entry of one of the first revisions. */
export interface Outline {
  readonly uri: string
  /** The frontmatter that the index copied from SKILL.md; `undefined` if it has none. */
  readonly frontmatter: unknown
  /** The digest of SKILL.md alone. */
  readonly digest: unknown
  /** Other statements of the index about the skill. */
  readonly said: string
}

/**
 * Creates the entry of a skill whose files the server does not declare: finds them, and reads them to learn their
 * digests. Declared sizes are checked against the limits before anything is read.
 */
export async function firstRead(outline: Outline, looking: ListingContext): Promise<MadeEntry> {
  const { uri, digest } = outline
  const { skill: limits, isWanted } = looking.rules
  const path = skillPathOf(uri)
  // An entry with this URI is refused; the judge of entries reports the reason.
  if (path === undefined) return { entry: { uri, resources: [] } }
  if (!isWanted(path)) return {}
  const sha256 = digest === undefined ? undefined : sha256In(digest)
  if (digest !== undefined && sha256 === undefined)
    return entryFinding('entry-refused', path, 'The digest of SKILL.md is not sha256: with 64 digits of 0-9 and a-f')
  const list = await looking.lists.of(uri, limits.files)
  if (!list.ok) return entryFinding('limit-files', path, `The files of the skill cannot be listed: ${list.why}`)
  const files = withDocument(uri, list.files)
  // A list of all resources may lack the files of a skill: servers need not list them.
  const isLinked = !list.isWhole && files.length === 1
  const reading = new FirstReading(outline, path, looking)
  const made = overLimits(files, pathsBeside(uri, files), path, looking) ?? (await reading.of(files, sha256, isLinked))
  if (list.strays.count === 0) return made
  const finding: SkillDiagnostic = { rule: 'entry-refused', path, message: messageOf(list.strays) }
  return { ...made, findings: [...(made.findings ?? []), finding] }
}

function messageOf({ first, count }: UnexpectedFiles): string {
  const [only = ''] = first
  if (count === 1) return `${only} is listed in its folder but is elsewhere; it is not read`
  const more = count > first.length ? `, and ${count - first.length} more` : ''
  return `${count} listed in its folders are elsewhere and are not read: ${first.join(', ')}${more}`
}

/**
 * Returns a refusal if there are too many files, or if their declared sizes are too large; then none is read. `paths`:
 * those of the files, for the message.
 */
export function overLimits(
  files: readonly { readonly size?: number | undefined }[],
  paths: readonly string[],
  path: string,
  { rules }: ListingContext,
): MadeEntry | undefined {
  const { files: mostFiles, bytes: mostBytes } = rules.skill
  if (files.length > mostFiles)
    return entryFinding('limit-files', path, `The skill has ${tooManyFiles(paths, mostFiles, String(files.length))}`)
  const bytes = files.reduce((sum, { size }) => sum + (size ?? 0), 0)
  if (bytes <= mostBytes) return undefined
  return entryFinding('limit-bytes', path, `The files hold ${bytes} bytes, over the limit of ${mostBytes}`)
}

/** Puts SKILL.md first, listed or not: without it the other files are useless. */
function withDocument(uri: string, files: readonly ListedFile[]): readonly ListedFile[] {
  const document = files.find((file) => file.uri === uri) ?? { uri, size: undefined, said: '' }
  return [document, ...files.filter((file) => file.uri !== uri)]
}

interface Resource {
  readonly uri: string
  readonly digest: string
  readonly size: number
}

/** The read of one skill. */
class FirstReading {
  readonly #outline: Outline
  readonly #path: string
  readonly #looking: ListingContext
  #bytesLeft: number

  constructor(outline: Outline, path: string, looking: ListingContext) {
    this.#outline = outline
    this.#path = path
    this.#looking = looking
    this.#bytesLeft = looking.rules.skill.bytes
  }

  /** `isLinked`: also request the files that the links of SKILL.md name. */
  async of(files: readonly ListedFile[], sha256: string | undefined, isLinked: boolean): Promise<MadeEntry> {
    const resources: Resource[] = []
    const findings: SkillDiagnostic[] = []
    let frontmatter: JsonObject | undefined
    for (const file of files) {
      const { uri } = file
      const isDocument = uri === this.#outline.uri
      const said = isDocument ? `${this.#outline.said}${file.said}` : file.said
      const read = await this.#read({ ...file, said, sha256: isDocument ? sha256 : undefined }, isDocument)
      if (!read.ok) return entryFinding(read.rule, this.#path, `"${uri}" is not what it should be: ${read.why}`)
      const document = isDocument ? await this.#documentIn(read.bytes ?? new Uint8Array()) : undefined
      if (document !== undefined && 'findings' in document) return document
      frontmatter ??= document?.frontmatter
      resources.push(this.#resource(uri, read))
      if (!isLinked || !isDocument) continue
      const linked = await this.#linkedFrom(read.bytes ?? new Uint8Array())
      resources.push(...linked.found)
      findings.push(...linked.findings)
    }
    const entry = { uri: this.#outline.uri, frontmatter, resources }
    return { entry, isFirstRead: true, isDocumentProved: sha256 !== undefined, findings }
  }

  async #linkedFrom(
    document: Uint8Array,
  ): Promise<{ readonly found: readonly Resource[] } & Required<Pick<MadeEntry, 'findings'>>> {
    const found: Resource[] = []
    const silence = await this.#looking.links.read(document, this.#outline.uri, this.#looking, async (file) => {
      // An empty file would still fit, but which file is empty is unknown before the request.
      if (this.#bytesLeft === 0) return false
      const read = await this.#read(file, false)
      if (read.ok) found.push(this.#resource(file.uri, read))
      return read.ok
    })
    if (silence === undefined) return { found, findings: [] }
    const message = `${silence.message}; the skill is served without that file, and what else it links to was not asked for`
    return { found, ...unansweredEntry({ message }, pathOfUri(silence.uri) ?? this.#path, this.#looking) }
  }

  #resource(uri: string, { sha256, size }: Extract<CachedFile, { ok: true }>): Resource {
    this.#bytesLeft -= size
    return { uri, digest: `sha256:${sha256}`, size }
  }

  async #read(file: UnreadFile, isDocument: boolean): Promise<CachedFile> {
    const { rules, fileCache } = this.#looking
    const most = Math.min(file.size ?? rules.fileBytes, this.#bytesLeft)
    return fileCache.read(file, isDocument ? 'bytes' : 'digest', () => fetchFile(file.uri, most, this.#looking))
  }

  async #documentIn(bytes: Uint8Array): Promise<Document> {
    return documentIn(bytes, this.#outline.frontmatter, this.#path, this.#looking)
  }
}

type Document = { readonly frontmatter: JsonObject } | Required<Pick<MadeEntry, 'findings'>>

/** Parses the frontmatter of SKILL.md, and verifies it against the index. */
export async function documentIn(
  bytes: Uint8Array,
  inIndex: unknown,
  path: string,
  { rules, signal }: ListingContext,
): Promise<Document> {
  const read = await frontmatterBy(rules.reader, bytes, rules.frontmatter, signal)
  if (!read.ok) return entryFinding(read.rule, path, read.message)
  const declared = inIndex === undefined ? undefined : frontmatterOf(inIndex, rules.frontmatter)
  if (declared === undefined || (declared.ok && isDeepStrictEqual(declared.json, read.frontmatter))) return read
  return entryFinding('content-mismatch', path, 'The frontmatter of SKILL.md is not the one in the index')
}
