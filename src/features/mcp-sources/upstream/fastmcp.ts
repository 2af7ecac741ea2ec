import { isMapping } from '../../../base/json-value.ts'
import { isSize, sha256In } from '../../../sync/model/declared-digest.ts'
import type { SyncError } from '../../../sync/model/sync-error.ts'
import { frontmatterBy } from '../../../sync/skill/document-reader.ts'
import { withinDepth } from '../client/depth-limit.ts'
import { EntryUnanswered } from '../client/entry-requests.ts'
import { orSilence } from '../client/rpc-errors.ts'
import { contentsOf, jsonIn } from './contents.ts'
import { fetchFile } from './fetch-file.ts'
import { rootOf, skillPathOf, uriOfFile } from './listed-files.ts'
import { entryFinding, madeInTurn } from './listing-context.ts'
import type { ListingContext, MadeEntry } from './listing-context.ts'
import { overLimits } from './unverified-skills.ts'

/**
 * Lists the skills of a FastMCP server: each SKILL.md among its resources that has a manifest next to it. The manifest
 * has the sizes and hashes of all files, so only SKILL.md is read. `undefined` if no skill has a manifest.
 */
export async function byManifests(looking: ListingContext): Promise<readonly MadeEntry[] | SyncError | undefined> {
  const resources = await orSilence(looking.lists.resources(looking.rules.connectMs))
  if (resources instanceof Error) return resources
  const uris = new Set([...resources].map(({ uri }) => uri).filter((uri) => /^skill:\/\/.+\/SKILL\.md$/.test(uri)))
  let isFastMcp = false
  let silence: EntryUnanswered | undefined
  const makeAt = async (uri: string, within: ListingContext): Promise<MadeEntry> => {
    const path = skillPathOf(uri)
    if (path === undefined || !looking.rules.isWanted(path)) return {}
    const manifest = await manifestOf(uri, within).catch((error: unknown) => {
      if (error instanceof EntryUnanswered) silence ??= error
      throw error
    })
    isFastMcp ||= manifest !== undefined
    return madeOf(uri, path, manifest, within)
  }
  const made = await madeInTurn([...uris], makeAt, skillPathOf, looking)
  // Without any manifest it is unknown if the server has this form.
  return isFastMcp ? made : silence
}

interface ManifestFile {
  readonly path: string
  readonly size: number
  readonly hash: unknown
}

/** `undefined` if there is no manifest. */
async function manifestOf(
  uri: string,
  looking: ListingContext,
): Promise<readonly ManifestFile[] | 'broken' | undefined> {
  const { entryRequests, budget, signal } = looking
  const reply = await entryRequests.request('resources/read', { uri: `${rootOf(uri)}/_manifest` }, signal)
  if (!reply.ok) return undefined
  const document = contentsOf(reply.result, budget.bytes)
  const manifest = 'why' in document ? undefined : withinDepth(jsonIn(document.bytes))
  if (!isMapping(manifest) || !Array.isArray(manifest['files'])) return 'broken'
  const files: readonly unknown[] = manifest['files']
  return files.every(isManifestFile) ? files : 'broken'
}

function isManifestFile(value: unknown): value is ManifestFile {
  return isMapping(value) && typeof value['path'] === 'string' && value['path'].isWellFormed() && isSize(value['size'])
}

async function madeOf(
  uri: string,
  path: string,
  files: readonly ManifestFile[] | 'broken' | undefined,
  looking: ListingContext,
): Promise<MadeEntry> {
  if (files === undefined) return entryFinding('entry-refused', path, 'The server has no manifest of the skill')
  if (files === 'broken') return entryFinding('entry-refused', path, 'The manifest of the skill is invalid')
  const over = overLimits(
    files,
    files.map((file) => file.path),
    path,
    looking,
  )
  if (over !== undefined) return over
  const document = files.find((file) => file.path === 'SKILL.md')
  const sha256 = sha256In(document?.hash)
  if (document === undefined || sha256 === undefined)
    return entryFinding(
      'entry-refused',
      path,
      'The manifest of the skill has no SKILL.md with its size and its SHA-256',
    )
  const { size } = document
  const file = { uri, said: '', sha256, size }
  const read = await looking.fileCache.read(file, 'bytes', () => fetchFile(uri, size, looking))
  if (!read.ok) return entryFinding(read.rule, path, `SKILL.md differs from its manifest: ${read.why}`)
  const { rules, signal } = looking
  const found = await frontmatterBy(rules.reader, read.bytes ?? new Uint8Array(), rules.frontmatter, signal)
  if (!found.ok) return entryFinding(found.rule, path, found.message)
  return { entry: { uri, frontmatter: found.frontmatter, resources: files.map((one) => resourceOf(one, uri)) } }
}

/** The paths of a manifest are not percent-encoded. */
function resourceOf({ path, size, hash }: ManifestFile, uri: string): object {
  return { uri: uriOfFile(uri, path), digest: hash, size }
}
