import { realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { reachedBy } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import type { Service } from './units.ts'

/**
 * Throws if the system service could not start: its sandbox hides a file that it needs, or its user must not read it.
 */
export async function expectSystemSees({ program, config }: Service): Promise<void> {
  for (const path of [program.node, program.main]) {
    if (await isHidden(path, SYSTEM_HIDES))
      throw hiddenPathError(
        path,
        'install Node and skillsyncd for all users (sudo npm install --global FILE, with what npm pack made in a clone), or use --user',
      )
  }
  if (await isHidden(config, SYSTEM_HIDES)) throw hiddenPathError(config, 'move it to /etc/skillsyncd/skillsyncd.yaml')
  const closed = await firstClosed(config)
  if (closed !== undefined)
    throw new UsageError(
      `Cannot make a service of "${config}": the service runs as a user of its own, which may not read "${closed}"; ` +
        `let every user read it (chmod o+rX), and hand secrets over with LoadCredential=`,
    )
}

/** Throws if a user's service could not start. Its sandbox shows the user's home. */
export async function expectUserSees({ program, config, state }: Service): Promise<void> {
  for (const path of [program.node, program.main, config, state])
    if (await isHidden(path, USER_HIDES)) throw hiddenPathError(path, 'keep it elsewhere')
}

/**
 * The skill folders that the sandbox of the system service hides. The service starts without them and reports that in
 * its status.
 */
export async function hiddenFolders(config: Config): Promise<readonly string[]> {
  const folders = reachedBy(config).flatMap(({ source }) => {
    if (source.kind === 'channel' && source.place.kind === 'folder') return [source.place.path]
    return source.kind === 'directory' ? [source.path] : []
  })
  const hiding = await Promise.all(folders.map(async (folder) => isHidden(folder, SYSTEM_HIDES)))
  return folders.filter((_, index) => hiding[index])
}

/** With PrivateTmp= the service has its own versions of these folders. */
const USER_HIDES = ['/tmp', '/var/tmp']
/** ProtectHome= hides these folders in addition. */
const SYSTEM_HIDES = [...USER_HIDES, '/home', '/root', '/run/user']

/** True also if a link leads there, or the folder is itself a link. */
async function isHidden(path: string, folders: readonly string[]): Promise<boolean> {
  const [one, ...others] = await Promise.all([path, ...folders].map(realOf))
  const real = one ?? path
  return [...folders, ...others].some((folder) =>
    [path, real].some((at) => at === folder || at.startsWith(`${folder}/`)),
  )
}

async function realOf(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}

function hiddenPathError(path: string, mend: string): UsageError {
  return new UsageError(`Cannot make a service of "${path}": its sandbox hides that folder; ${mend}`)
}

/**
 * The first folder on the path that is not accessible to all users, from the root on, or the file itself; `undefined`
 * if all are.
 */
async function firstClosed(file: string): Promise<string | undefined> {
  const folders: string[] = []
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    folders.unshift(folder)
    if (folder === dirname(folder)) break
  }
  for (const folder of folders) if (((await stat(folder)).mode & 0o001) === 0) return folder
  return ((await stat(file)).mode & 0o004) === 0 ? file : undefined
}
