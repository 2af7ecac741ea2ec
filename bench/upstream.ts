import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Repository } from '../test/support/git/repository.ts'
import type { Content } from '../test/support/git/repository.ts'
import { cpuMsOfAll } from './process-use.ts'
import { bytesOf } from './skills.ts'
import type { Skills } from './skills.ts'

/** A repository of skills, and where it is served. */
interface ServedRepository {
  readonly repository: Repository
  readonly skills: Skills
  readonly url: string
}

/** A repository of skills, and a git server in a process of its own that serves it. */
export type ServedSkills = ServedRepository & AsyncDisposable

export async function serveSkills(skills: Skills): Promise<ServedSkills> {
  const { all, ...served } = await serveAll([skills])
  const [one] = all
  if (one === undefined) throw new TypeError('One repository came to none')
  return { ...one, ...served }
}

/** Several of them, behind one server. */
export interface ServedRepositories extends AsyncDisposable {
  readonly all: readonly ServedRepository[]
}

export async function serveAll(contents: readonly Skills[]): Promise<ServedRepositories> {
  const made: { readonly repository: Repository; readonly skills: Skills }[] = []
  for (const skills of contents) made.push({ skills, repository: await packed(skills.files) })
  const served = await serveFolders(made.map(({ repository }) => repository.folder))
  return {
    all: made.map((one, index) => ({ ...one, url: String(served.urls[index]) })),
    [Symbol.asyncDispose]: async () => {
      await served[Symbol.asyncDispose]()
      await Promise.all(made.map(({ repository }) => repository[Symbol.asyncDispose]()))
    },
  }
}

/** A git server in a process of its own. */
interface ServedFolders extends AsyncDisposable {
  readonly urls: readonly string[]
  /** Processor time of the server and of the git processes that it started and that ended, in milliseconds. */
  cpuMs(): Promise<number>
}

/** Serves bare repositories. */
export async function serveFolders(folders: readonly string[]): Promise<ServedFolders> {
  const child = fork(fileURLToPath(new URL('./server-process.ts', import.meta.url)), folders)
  const [urls]: readonly unknown[] = await once(child, 'message')
  if (!Array.isArray(urls)) throw new TypeError('The server does not say where it is')
  return {
    urls: urls.map(String),
    cpuMs: async () => cpuMsOfAll(child.pid ?? 0),
    [Symbol.asyncDispose]: async () => {
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}

/** As a host keeps it: one pack, well packed. */
async function packed(files: Skills['files']): Promise<Repository> {
  const repository = await Repository.create()
  if (Object.values(files).some((content) => content instanceof Uint8Array)) {
    // Those do not compress, and a host would not find anything to share between them either; only it would take longer.
    await repository.git('config', 'core.bigFileThreshold', '512k')
    await repository.git('config', 'core.compression', '0')
    await repository.git('config', 'fastimport.unpackLimit', '1')
  }
  for (const some of slicesOf(files)) await repository.commit(some)
  await repository.git('repack', '-a', '-d', '-q')
  return repository
}

/** Parts that one commit can hold in memory. */
export function slicesOf(files: Skills['files']): Record<string, Content>[] {
  const slices: Record<string, Content>[] = [{}]
  let bytes = 0
  for (const [path, content] of Object.entries(files)) {
    if (bytes > MOST_BYTES) {
      slices.push({})
      bytes = 0
    }
    Object.assign(slices.at(-1) ?? {}, { [path]: content })
    bytes += bytesOf(content)
  }
  return slices
}

const MOST_BYTES = 2 ** 28
