import { SyncError } from '../../../src/sync/model/sync-error.ts'
import type { Tree } from '../../../src/sync/model/tree.ts'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'
import { blobsOf, reach, STEADY, type Reached } from './reached.ts'

/** A small repository behind a git server, and an upstream that reaches it. */
export interface Served extends AsyncDisposable {
  readonly server: GitServer
  readonly repository: Repository
  readonly url: string
  readonly reached: Reached
  readonly content: Readonly<Record<string, string>>
}

export async function serve(options: Parameters<typeof reach>[1] = {}): Promise<Served> {
  const repository = await Repository.create()
  const content = { 'a/SKILL.md': 'one\n'.repeat(20), 'a/b/c.txt': 'two\n', 'd.md': 'three\n' }
  await repository.commit(content)
  const server = await GitServer.start()
  const url = server.serve('team', repository)
  const reached = await reach(url, options)
  return {
    server,
    repository,
    url,
    reached,
    content,
    [Symbol.asyncDispose]: async () => {
      await reached[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}

export async function failureOf(promise: Promise<unknown>): Promise<SyncError> {
  const failure: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (failure instanceof SyncError) return failure
  throw new Error('expected a SyncError', { cause: failure })
}

export async function contentOf(tree: Tree): Promise<Record<string, string>> {
  const taken = await tree.take(blobsOf(tree), STEADY)
  const content: Record<string, string> = {}
  const visit = async (id: typeof tree.root, path: string): Promise<void> => {
    for (const entry of tree.list(id)) {
      const blob = taken.get(entry.id)
      if (entry.kind === 'folder') await visit(entry.id, `${path}${entry.name}/`)
      else if (blob?.kind === 'blob') content[path + entry.name] = Buffer.from(tree.bytesOf(blob)).toString()
    }
  }
  await visit(tree.root, '')
  return content
}
