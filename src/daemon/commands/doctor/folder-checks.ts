import { constants } from 'node:fs'
import { access, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDiskError, unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { verdicts } from '../../cli/check.ts'
import type { Check, CheckResult, Ground } from '../../cli/check.ts'
import { whyNotUsed } from '../../runtime/disk-error-text.ts'

/** Checks sources on this disk, and whether the system's limits allow watching their folders. */
export function folderChecks({ config }: Ground, limits = INOTIFY): Check[] {
  const folders = config.sources.flatMap(({ source }) =>
    source.kind === 'directory' ? [{ id: source.id, path: source.path }] : [],
  )
  const repositories = config.sources.flatMap(({ source }) =>
    source.kind === 'git' && /^file:/i.test(source.url) ? [{ id: source.id, path: fileURLToPath(source.url) }] : [],
  )
  const channels = config.sources.flatMap(({ source }) =>
    source.kind === 'channel' && source.place.kind === 'folder' ? [{ id: source.id, path: source.place.path }] : [],
  )
  const readable = [...folders, ...channels, ...repositories].map(({ id, path }): Check => {
    return { name: 'folder', subject: id, look: async () => [await checkFolder(id, path)] }
  })
  if (folders.length === 0 || process.platform !== 'linux') return readable
  const paths = folders.map(({ path }) => path)
  return [...readable, { name: 'watches', look: async (signal) => [await watchesChecked(paths, limits, signal)] }]
}

const INOTIFY = '/proc/sys/fs/inotify'

async function checkFolder(id: string, path: string): Promise<CheckResult> {
  const { ok, fail } = verdicts('folder', id)
  const fix = 'Check `path` or `url`, and that the user of the daemon may read it'
  try {
    await access(path, constants.R_OK | constants.X_OK)
    return (await stat(path)).isDirectory() ? ok(`"${path}" can be read`) : fail(`"${path}" is not a folder`, fix)
  } catch (error) {
    if (!isDiskError(error)) throw error
    return fail(`"${path}" cannot be read: ${whyNotUsed(error)}`, fix)
  }
}

/** inotify needs one watch for each folder and subfolder. All programs of a user share one limit. */
async function watchesChecked(paths: readonly string[], limits: string, signal: AbortSignal): Promise<CheckResult> {
  const { ok, warn, unknown } = verdicts('watches')
  const [most, instances] = [await numberIn(limits, 'max_user_watches'), await numberIn(limits, 'max_user_instances')]
  if (most === undefined || instances === undefined)
    return unknown(
      'the system names no limits',
      'Nothing: a folder that cannot be watched is read on its schedule, and the log says so',
    )
  const needed = await foldersBelow(paths, signal)
  const fix = `sysctl fs.inotify.max_user_watches=${Math.max(65_536, 4 * needed)}; until then folders are polled on their schedule`
  if (2 * needed > most)
    return warn(`${needed} folders are watched, and a user of this machine has ${most} watches in all`, fix)
  if (paths.length * 2 > instances)
    return warn(
      `${paths.length} sources are watched, and a user of this machine has ${instances} watchers in all`,
      `sysctl fs.inotify.max_user_instances=${4 * paths.length}; until then folders are polled on their schedule`,
    )
  return ok(`${needed} folders are watched; a user of this machine has ${most} watches`)
}

async function numberIn(folder: string, name: string): Promise<number | undefined> {
  const text = await unlessAbsent(readFile(join(folder, name), 'utf8'))
  return text === undefined || !/^\d+\s*$/.test(text) ? undefined : Number(text)
}

/** Stops at a limit: a larger folder is not watched anyway. */
async function foldersBelow(roots: readonly string[], signal: AbortSignal): Promise<number> {
  const left = [...roots]
  let count = 0
  for (let path = left.pop(); path !== undefined && count < MOST_COUNTED; path = left.pop()) {
    signal.throwIfAborted()
    count += 1
    for (const entry of await entriesOf(path)) if (entry.isDirectory()) left.push(join(path, entry.name))
  }
  return count
}

const MOST_COUNTED = 100_000

/** Another check reports unreadable folders. */
async function entriesOf(path: string) {
  return readdir(path, { withFileTypes: true }).catch((error: unknown) => {
    if (isDiskError(error)) return []
    throw error
  })
}
