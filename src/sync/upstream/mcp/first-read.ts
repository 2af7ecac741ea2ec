import { isDeepStrictEqual } from 'node:util'
import { sha256In } from '../../model/declared-file.ts'
import { frontmatterBy } from '../../model/document-reader.ts'
import type { Finding } from '../../model/finding.ts'
import { frontmatterOf } from '../../model/frontmatter.ts'
import type { JsonObject } from '../../model/frontmatter.ts'
import { SyncError } from '../../model/sync-error.ts'
import { Overlong } from './channel.ts'
import { contentsOf } from './contents.ts'
import type { Contents, Unwanted } from './contents.ts'
import type { Strays } from './file-lists.ts'
import type { ListedFile } from './listed-files.ts'
import { skillPathOf, unmade } from './looking.ts'
import type { Looking, Made } from './looking.ts'
import type { ReadFile, UnreadFile } from './shelf.ts'

/** What an index of one of the first revisions says of a skill. */
export interface Outline {
  readonly uri: string
  /** As the index copied it from SKILL.md; undefined where it did not. */
  readonly frontmatter: unknown
  /** Of SKILL.md alone. */
  readonly digest: unknown
  /** Whatever else it says of it. */
  readonly said: string
}

/**
 * The entry of a skill of which nobody says what its files are: they are looked for, and read to learn it. What is declared of
 * them is held against the limits before anything is read.
 */
export async function firstRead(outline: Outline, looking: Looking): Promise<Made> {
  const { uri, digest } = outline
  const { skill: limits, isWanted } = looking.rules
  const path = skillPathOf(uri)
  // It is refused by its URI: whoever judges entries says why.
  if (path === undefined) return { entry: { uri, resources: [] } }
  if (!isWanted(path)) return {}
  const sha256 = digest === undefined ? undefined : sha256In(digest)
  if (digest !== undefined && sha256 === undefined)
    return unmade('entry-refused', path, 'The digest of SKILL.md is not sha256: with 64 digits of 0-9 and a-f')
  const list = await looking.lists.of(uri, limits.files)
  if (!list.ok) return unmade('limit-files', path, `The files of the skill cannot be told: ${list.why}`)
  const files = withDocument(uri, list.files)
  const made = overLimits(files, path, looking) ?? (await new FirstReading(outline, path, looking).of(files, sha256))
  if (list.strays.count === 0) return made
  const finding: Finding = { rule: 'entry-refused', path, message: messageOf(list.strays) }
  return { ...made, findings: [...(made.findings ?? []), finding] }
}

function messageOf({ first, count }: Strays): string {
  const [only = ''] = first
  if (count === 1) return `${only} is listed in its folder and lies elsewhere; it is not read`
  const more = count > first.length ? `, and ${count - first.length} more` : ''
  return `${count} listed in its folders lie elsewhere and are not read: ${first.join(', ')}${more}`
}

/** Why so many files, or files that are declared to be so large, are not read at all. */
export function overLimits(
  files: readonly { readonly size?: number | undefined }[],
  path: string,
  { rules }: Looking,
): Made | undefined {
  const { files: mostFiles, bytes: mostBytes } = rules.skill
  if (files.length > mostFiles)
    return unmade('limit-files', path, `The skill has ${files.length} files, over the limit of ${mostFiles}`)
  const bytes = files.reduce((sum, { size }) => sum + (size ?? 0), 0)
  if (bytes <= mostBytes) return undefined
  return unmade('limit-bytes', path, `The files hold ${bytes} bytes, over the limit of ${mostBytes}`)
}

/** Reads a resource for the shelf: what the server refuses, or sends in a form that cannot be used, is missing there alone. */
export async function fetchFile(uri: string, mostBytes: number, { connection, signal }: Looking): Promise<Contents> {
  const reply = await connection.request('resources/read', { uri }, signal).catch(unusableAnswer)
  if ('why' in reply) return reply
  if (reply.ok) return contentsOf(reply.result, mostBytes)
  return { why: `the server answers ${reply.code}, "${reply.message.slice(0, 200)}"`, came: 0 }
}

/** Silence and a connection that is lost say nothing of the file. */
function unusableAnswer(error: unknown): Unwanted {
  if (error instanceof Overlong) return { why: error.message, came: error.came, isTooLarge: true }
  if (error instanceof SyncError && error.code === 'unsupported') return { why: error.message, came: 0 }
  throw error
}

/** SKILL.md first, listed or not: without it there is no use in the rest. */
function withDocument(uri: string, files: readonly ListedFile[]): readonly ListedFile[] {
  const document = files.find((file) => file.uri === uri) ?? { uri, size: undefined, said: '' }
  return [document, ...files.filter((file) => file.uri !== uri)]
}

interface Resource {
  readonly uri: string
  readonly digest: string
  readonly size: number
}

/** One skill being read. */
class FirstReading {
  readonly #outline: Outline
  readonly #path: string
  readonly #looking: Looking
  #bytesLeft: number

  constructor(outline: Outline, path: string, looking: Looking) {
    this.#outline = outline
    this.#path = path
    this.#looking = looking
    this.#bytesLeft = looking.rules.skill.bytes
  }

  async of(files: readonly ListedFile[], sha256: string | undefined): Promise<Made> {
    const resources: Resource[] = []
    let frontmatter: JsonObject | undefined
    for (const file of files) {
      const { uri } = file
      const isDocument = uri === this.#outline.uri
      const said = isDocument ? `${this.#outline.said}${file.said}` : file.said
      const read = await this.#read({ ...file, said, sha256: isDocument ? sha256 : undefined }, isDocument)
      if (!read.ok) return unmade(read.rule, this.#path, `"${uri}" is not what it should be: ${read.why}`)
      const document = isDocument ? await this.#documentIn(read.bytes ?? new Uint8Array()) : undefined
      if (document !== undefined && 'findings' in document) return document
      frontmatter ??= document?.frontmatter
      this.#bytesLeft -= read.size
      resources.push({ uri, digest: `sha256:${read.sha256}`, size: read.size })
    }
    return { entry: { uri: this.#outline.uri, frontmatter, resources }, isFirstRead: true }
  }

  async #read(file: UnreadFile, isDocument: boolean): Promise<ReadFile> {
    const { rules, shelf } = this.#looking
    const most = Math.min(file.size ?? rules.fileBytes, this.#bytesLeft)
    return shelf.read(file, isDocument ? 'bytes' : 'digest', () => fetchFile(file.uri, most, this.#looking))
  }

  async #documentIn(bytes: Uint8Array): Promise<Document> {
    return documentIn(bytes, this.#outline.frontmatter, this.#path, this.#looking)
  }
}

type Document = { readonly frontmatter: JsonObject } | Required<Pick<Made, 'findings'>>

/** What SKILL.md says, if it is what the index says for it. */
export async function documentIn(
  bytes: Uint8Array,
  inIndex: unknown,
  path: string,
  { rules, signal }: Looking,
): Promise<Document> {
  const read = await frontmatterBy(rules.reader, bytes, rules.frontmatter, signal)
  if (!read.ok) return unmade(read.rule, path, read.message)
  const declared = inIndex === undefined ? undefined : frontmatterOf(inIndex, rules.frontmatter)
  if (declared === undefined || (declared.ok && isDeepStrictEqual(declared.json, read.frontmatter))) return read
  return unmade('content-mismatch', path, 'The frontmatter of SKILL.md is not the one in the index')
}
