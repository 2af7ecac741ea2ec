import { isMapping } from '../../../base/json-value.ts'
import { isBelow } from '../../../base/paths.ts'
import { sha256In } from '../../../sync/model/declared-digest.ts'
import { pathOf, readUpstreamUri } from '../../../sync/model/uris/upstream-uri.ts'
import type { SkillDiagnostic } from '../../../sync/skill/skill-diagnostic.ts'
import { fetchFile } from './fetch-file.ts'
import { ListedFiles, skillPathOf } from './listed-files.ts'
import { madeInTurn } from './listing-context.ts'
import type { ListingContext, MadeEntry } from './listing-context.ts'
import { firstRead } from './unverified-skills.ts'

/**
 * Completes an entry with what its server leaves out, if it can be found: sizes, and the present content of dynamic
 * files.
 */
export async function wholeEntry(entry: unknown, looking: ListingContext): Promise<MadeEntry> {
  if (!looking.rules.takesDynamic || !isMapping(entry)) return addSizes(entry, looking)
  const { uri, frontmatter, resources } = entry
  if (typeof uri !== 'string' || resources !== 'dynamic') return addSizes(entry, looking)
  return { ...(await firstRead({ uri, frontmatter, digest: undefined, said: '' }, looking)), isDynamic: true }
}

/** Completes all entries of a list. */
export async function wholeEntries(
  entries: readonly unknown[],
  looking: ListingContext,
): Promise<readonly MadeEntry[]> {
  return madeInTurn(entries, wholeEntry, pathOfEntry, looking)
}

function pathOfEntry(entry: unknown): string | undefined {
  return isMapping(entry) && typeof entry['uri'] === 'string' ? skillPathOf(entry['uri']) : undefined
}

/**
 * Adds sizes to an entry of a revision that had digests and no sizes. They come from the lists of resources or folders,
 * or from the files if the operator had that skill mirrored. Returns the entry unchanged if a size is missing: sizes
 * are never invented.
 */
async function addSizes(entry: unknown, looking: ListingContext): Promise<MadeEntry> {
  if (!isMapping(entry) || typeof entry['uri'] !== 'string') return { entry }
  const { uri, resources } = entry
  const { skill: limits, isWanted, isMeasured } = looking.rules
  const path = skillPathOf(uri)
  if (path === undefined || !isWanted(path) || !lacksSizes(resources) || resources.length > limits.files)
    return { entry }
  const among = withSizes(resources, await looking.lists.resources())
  if (among !== undefined) return { entry: { ...entry, resources: among } }
  const list = await looking.lists.of(uri, limits.files)
  const below = list.ok ? withSizes(resources, new ListedFiles(list.files)) : undefined
  if (below !== undefined) return { entry: { ...entry, resources: below } }
  if (!isMeasured(uri)) return { entry }
  const measured = await measuredFiles(resources, path, looking)
  return 'finding' in measured ? { entry, findings: [measured.finding] } : { entry: { ...entry, resources: measured } }
}

function lacksSizes(resources: unknown): resources is readonly unknown[] {
  return Array.isArray(resources) && resources.some((one) => isMapping(one) && one['size'] === undefined)
}

/** `undefined` if a file is still without a size. */
function withSizes(resources: readonly unknown[], files: ListedFiles): readonly unknown[] | undefined {
  const all = resources.map((one) => {
    if (!isMapping(one) || one['size'] !== undefined || typeof one['uri'] !== 'string') return one
    return { ...one, size: files.at(one['uri'])?.size }
  })
  return lacksSizes(all) ? undefined : all
}

/**
 * Reads each file and verifies its digest. An entry that breaks a rule is not read; the judge of entries reports why.
 */
async function measuredFiles(
  resources: readonly unknown[],
  path: string,
  looking: ListingContext,
): Promise<readonly unknown[] | { readonly finding: SkillDiagnostic }> {
  const { rules, fileCache } = looking
  let bytesLeft = rules.skill.bytes
  const measured: unknown[] = []
  for (const one of resources) {
    const { uri, digest }: Readonly<Record<string, unknown>> = isMapping(one) ? one : {}
    const sha256 = sha256In(digest)
    if (typeof uri !== 'string' || !isInside(uri, path) || sha256 === undefined) return resources
    const most = Math.min(rules.fileBytes, bytesLeft)
    const file = { uri, said: '', sha256, size: undefined }
    const read = await fileCache.read(file, 'digest', () => fetchFile(uri, most, looking))
    if (!read.ok) {
      const message = `"${uri}" cannot be read to learn its size: ${read.why}`
      return { finding: { rule: read.rule, path, message } }
    }
    bytesLeft -= read.size
    measured.push({ ...(isMapping(one) && one), size: read.size })
  }
  return measured
}

function isInside(uri: string, skill: string): boolean {
  const read = readUpstreamUri(uri)
  return read.ok && isBelow(pathOf(read), skill)
}
