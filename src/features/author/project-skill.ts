import { basename } from 'node:path'
import { whyNotUsed } from '../../daemon/runtime/disk-error-text.ts'
import { FolderFaultError, fileOf, folderFilesOf } from '../../daemon/runtime/folder-files.ts'
import type { OutputFolder } from '../../daemon/runtime/output-folder.ts'
import { DOCUMENT, isWithin } from '../../daemon/runtime/skill-folders.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { ContractFault } from '../../sync/skill/contract/contract-error.ts'
import { CONTRACT_KEY } from '../../sync/skill/contract/contract.ts'
import { project } from '../../sync/skill/contract/projection.ts'
import type { Profile, ProjectionFault } from '../../sync/skill/contract/projection.ts'
import { readContract } from '../../sync/skill/contract/read-contract.ts'
import { reconstruct } from '../../sync/skill/contract/restore-projection.ts'
import { FRONTMATTER_LIMITS, readFrontmatter } from '../../sync/skill/frontmatter.ts'
import { isDiskError } from '../../sync/store/files/disk-error.ts'

/** The kind of SKILL.md to make: a projection for a profile, or the original of a projection. */
export type Projecting = { readonly kind: 'project'; readonly profile: Profile } | { readonly kind: 'reverse' }

/** The result for one skill. */
export type ProjectionResult<Result> = ({ readonly kind: 'made' } & Result) | ProjectionFailed

/** All faults that prevent the output for one skill. */
export interface ProjectionFailed {
  readonly kind: 'failed'
  readonly faults: readonly PlacedFault[]
}

/** A fault and its place in a skill's folder; with a field if it concerns one of SKILL.md. */
export interface PlacedFault {
  readonly path: string
  readonly field?: string
  readonly message: string
}

/** A resulting SKILL.md. */
export interface ProjectedSkill {
  readonly name: string
  readonly bytes: Uint8Array
  /** The fields that were left out. */
  readonly dropped: readonly string[]
}

/** Makes the SKILL.md of one skill. Reads nothing else in its folder. */
export async function projectedDocument(folder: string, making: Projecting): Promise<ProjectionResult<ProjectedSkill>> {
  return unlessFaulty(async () => projectOne({ bytes: (await fileOf(folder, DOCUMENT)).bytes, folder }, making))
}

/** A resulting copy of a whole folder. */
export interface Copy extends Omit<ProjectedSkill, 'bytes'> {
  readonly to: string
  readonly status: 'written' | 'unchanged'
  /** The SKILL.md files of skills inside this one, copied as they are. */
  readonly nested: readonly string[]
}

/** Copies the whole folder into the output, with the new SKILL.md. `taken` has the names used so far. */
export async function copyTo(
  output: OutputFolder,
  folder: string,
  making: Projecting,
  { taken, signal }: { readonly taken: Map<string, string>; readonly signal: AbortSignal },
): Promise<ProjectionResult<Copy>> {
  return unlessFaulty(async () => {
    const files = await folderFilesOf(folder)
    const document = files.find(({ path }) => path === DOCUMENT)
    if (document === undefined) throw new FolderFaultError(DOCUMENT, 'is not there any more')
    const result = projectOne({ bytes: document.bytes, folder, files: files.map(({ path }) => path) }, making)
    if (result.kind === 'failed') return result
    const { name, bytes, dropped } = result
    const other = taken.get(name)
    if (other !== undefined) return failure([{ path: DOCUMENT, field: 'name', message: `is that of "${other}" too` }])
    if (isWithin(folder, output.pathOf(name)))
      return failure([{ path: '', message: 'is at the place of its copy; name another --out' }])
    const status = await output.put(
      name,
      files.map((file) => (file === document ? { ...file, bytes } : file)),
      signal,
    )
    taken.set(name, folder)
    const nested = files.map(({ path }) => path).filter((path) => path.endsWith(`/${DOCUMENT}`))
    return { kind: 'made', name, dropped, status, to: output.pathOf(name), nested }
  })
}

/** A SKILL.md, its folder, and the files of that folder if they were read. */
interface Authored {
  readonly bytes: Uint8Array
  readonly folder: string
  readonly files?: readonly string[]
}

function projectOne(authored: Authored, making: Projecting): ProjectionResult<ProjectedSkill> {
  const { bytes, folder } = authored
  if (making.kind === 'reverse') {
    const result = reconstruct(bytes)
    return result.ok ? { kind: 'made', name: result.name, bytes: result.bytes, dropped: [] } : inDocument(result.faults)
  }
  const violations = violationsOf(authored)
  if (violations.length > 0) return inDocument(violations.map(({ path, message }) => ({ field: path, message })))
  const result = project(bytes, making.profile, basename(folder))
  if (!result.ok) return inDocument(result.faults)
  const { name, bytes: written, dropped } = result
  const back = reconstruct(written)
  if (!back.ok)
    return inDocument(back.faults.map(({ field, message }) => ({ field, message: `${NO_WAY_BACK}: ${message}` })))
  return { kind: 'made', name, bytes: written, dropped }
}

const NO_WAY_BACK = 'would not come back with --reverse'

/** An existing block must follow the contract, because its faults would be passed on. */
function violationsOf({ bytes, folder, files }: Authored): readonly ContractFault[] {
  const read = readFrontmatter(bytes, FRONTMATTER_LIMITS)
  if (!read.ok || read.frontmatter[CONTRACT_KEY] === undefined) return []
  const contract = readContract(read.frontmatter, basename(folder), files)
  return contract.ok ? [] : contract.violations
}

function inDocument(faults: readonly ProjectionFault[]): ProjectionFailed {
  return failure(faults.map(({ field, message }) => ({ path: DOCUMENT, field, message })))
}

function failure(faults: readonly PlacedFault[]): ProjectionFailed {
  return { kind: 'failed', faults }
}

/** A skill that cannot be read or written must not stop the others. */
async function unlessFaulty<Result>(work: () => Promise<ProjectionResult<Result>>): Promise<ProjectionResult<Result>> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof FolderFaultError) return failure([{ path: error.path, message: error.message }])
    if (error instanceof SyncError) return failure([{ path: '', message: error.message }])
    if (isDiskError(error))
      return failure([{ path: '', message: `cannot be read or written: ${whyNotUsed(error)} (${error.message})` }])
    throw error
  }
}
