import { systemClock } from '../../../base/async/clock.ts'
import { joinPath } from '../../../base/paths.ts'
import type { ObjectId, Revision } from '../../../sync/model/revision.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { Tree } from '../../../sync/model/tree.ts'
import { openUpstream } from '../../../sync/pull/open-upstream.ts'
import { temporaryWorkspace } from '../../../sync/store/objects/temporary-blobs.ts'
import { realRoot } from '../../../sync/survey/link-resolver.ts'
import { NOTHING_KNOWN } from '../../../sync/upstream/upstream.ts'
import { Keyring } from '../../access/keyring.ts'
import { sshAccessOf } from '../../config/auth.ts'
import { ownFolders } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import { cleanError } from '../../pull/pull-context.ts'
import type { DaemonContext } from '../../runtime/context.ts'

/** The content of a source before anything of it is stored. */
export interface FirstLook {
  readonly revision: Revision
  /** The path of the configured root, after all links to it. */
  readonly root: string
  /** The folders that hold a SKILL.md, relative to the top of the repository, in tree order. */
  readonly skills: readonly string[]
  /** True if its folder `docs` has Markdown files, besides those of skills. */
  readonly hasDocs: boolean
}

/** Fetches the first source of a configuration that is not in use yet. Writes no state folder and reads no skill. */
export async function firstLook(
  config: Config,
  { environment, redactor }: Pick<DaemonContext, 'environment' | 'redactor'>,
  signal: AbortSignal,
): Promise<FirstLook> {
  const [configured] = config.sources
  if (configured === undefined || configured.source.kind === 'mcp' || configured.source.kind === 'channel')
    throw new TypeError('There is nothing to look at')
  const { limits, programs } = config
  const keyring = new Keyring({ environment, redactor, clock: systemClock, fetchMs: limits.fetch.totalMs })
  await using workspace = await temporaryWorkspace()
  try {
    const upstream = openUpstream(configured.source, {
      scratch: workspace.scratch,
      blobs: workspace.blobs,
      limits: limits.fetch,
      way: keyring.wayTo(configured),
      programs: {
        ...programs,
        path: environment.path,
        access: sshAccessOf(configured.access, environment, redactor),
      },
      apart: ownFolders(config, environment),
    })
    const revision = await upstream.resolve(signal)
    await using tree = await upstream.fetch(revision, NOTHING_KNOWN, signal)
    const root = await realRoot(tree, configured.source.root, signal)
    const docs = tree.list(tree.root).find(({ name, kind }) => name === 'docs' && kind === 'folder')
    const hasDocs = docs !== undefined && hasDocuments(tree, docs.id)
    return { revision, root, skills: skillFolders(tree, tree.root, ''), hasDocs }
  } catch (error) {
    throw error instanceof SyncError ? cleanError(error, redactor) : error
  }
}

function hasDocuments(tree: Tree, id: ObjectId): boolean {
  const entries = tree.list(id)
  if (entries.some(({ name }) => name === 'SKILL.md')) return false
  return entries.some(({ name, kind, id: entry }) =>
    kind === 'folder' ? hasDocuments(tree, entry) : name.endsWith('.md'),
  )
}

/** The fetch has limited the number of entries and their depth. */
function skillFolders(tree: Tree, id: ObjectId, path: string): string[] {
  const entries = tree.list(id)
  const isSkill = entries.some(({ name, kind }) => name === 'SKILL.md' && kind !== 'folder')
  const below = entries.flatMap(({ name, kind, id: entry }) =>
    kind === 'folder' ? skillFolders(tree, entry, joinPath(path, name)) : [],
  )
  return isSkill ? [path, ...below] : below
}
