import type { Config } from '../../daemon/config/config.ts'
import { whyNotUsed } from '../../daemon/runtime/disk-error-text.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { futurePath } from '../../daemon/runtime/resolve-path.ts'
import { isWithin } from '../../daemon/runtime/skill-folders.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { isDiskError } from '../../sync/store/files/disk-error.ts'
import { namedFolderOf, useOfFolder } from './link-record.ts'
import type { Use } from './link-record.ts'

/** A folder that agents read, with its path resolved. */
export interface LinkTarget {
  readonly folder: string
  readonly uses: readonly Use[]
}

/** A use, and the path of its folder, in which links are not resolved yet. */
export interface LinkPlace {
  readonly use: Use
  readonly path: string
}

/**
 * Each folder once, whatever path leads to it: a link in its path may lead to another agent's folder. Throws if a
 * folder must not be linked into.
 */
export async function linkTargetsOf(places: readonly LinkPlace[], config: Config): Promise<readonly LinkTarget[]> {
  const targets = new Map<string, Use[]>()
  for (const { use, path } of places) {
    const folder = await resolvedFor(path, path)
    const isNamed = namedFolderOf(use) !== undefined
    if (!isNamed) expectInside(folder, use.project)
    await expectApart(folder, config)
    targets.set(folder, [...(targets.get(folder) ?? []), isNamed ? useOfFolder(folder) : use])
  }
  return [...targets].map(([folder, uses]) => ({ folder, uses }))
}

/**
 * The real path. Fails if it cannot be resolved, because a path that is compared with the folder could then lead into
 * it.
 */
async function resolvedFor(path: string, folder: string): Promise<string> {
  try {
    return await futurePath(path)
  } catch (error) {
    if (!isDiskError(error)) throw error
    const why =
      path === folder
        ? `${whyNotUsed(error)}; fix that, or name another agent`
        : `cannot check that it is separate from "${path}": ${whyNotUsed(error)}; fix that`
    throw new OperatorError('cannot-link', `Cannot link into "${folder}": ${why}`, { cause: error })
  }
}

/** The content of a repository is not trusted: a link in it must not choose a folder outside of it. */
function expectInside(folder: string, project: string | undefined): void {
  if (project === undefined || isWithin(folder, project)) return
  throw new UsageError(`Cannot link into "${folder}": a link leads there from "${project}", which it is not in`)
}

/**
 * In a folder of a source, the links would be found as skills of that source. In the state folder, agents look for no
 * skills.
 */
async function expectApart(folder: string, { state, sources }: Config): Promise<void> {
  const own = await resolvedFor(state, folder)
  if (isWithin(folder, own) || isWithin(own, folder))
    throw new UsageError(`Cannot link into "${folder}": the state folder is "${state}"; name another --state`)
  for (const { source } of sources) {
    if (source.kind === 'directory' && isWithin(folder, await resolvedFor(source.path, folder)))
      throw new UsageError(`Cannot link into "${folder}": it is what the source "${source.id}" is made from`)
  }
}
