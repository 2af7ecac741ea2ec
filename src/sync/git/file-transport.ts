import { fileURLToPath } from 'node:url'
import type { GitSource } from '../model/source.ts'
import { SyncError } from '../model/sync-error.ts'
import type { GitReach } from './git-reach.ts'
import type { GitTransport, ObjectLocation } from './objects/git-transport.ts'
import type { Ref } from './objects/ref-rules.ts'
import { ProgramTransport } from './program/program-transport.ts'

/**
 * A local repository. Our own reader reads it; isomorphic-git does if the source demands it, the git program also if
 * the repository needs it.
 */
export class FileTransport implements GitTransport {
  readonly #path: string
  readonly #backend: GitSource['backend']
  readonly #reach: GitReach

  constructor(url: string, backend: GitSource['backend'], reach: GitReach) {
    this.#path = fileURLToPath(url)
    this.#backend = backend
    this.#reach = reach
  }

  async list(patterns: readonly string[], signal: AbortSignal): Promise<readonly Ref[]> {
    return this.#with((transport) => transport.list(patterns, signal))
  }

  async peel(ref: Ref, signal: AbortSignal): Promise<Ref> {
    return this.#with((transport) => transport.peel(ref, signal))
  }

  async isEmpty(signal: AbortSignal): Promise<boolean> {
    return this.#with((transport) => transport.isEmpty(signal))
  }

  async locate(signal: AbortSignal): Promise<ObjectLocation> {
    return this.#with((transport) => transport.locate(signal))
  }

  forget(): void {}

  /** Checked on each use: the repository may have been recreated in another form. */
  async #with<T>(use: (transport: GitTransport) => Promise<T>): Promise<T> {
    // Only a local repository needs isomorphic-git, which loads slowly.
    const { DiskTransport, repositoryAt, unmetNeed } = await import('./disk-transport.ts')
    const folder = await repositoryAt(this.#path)
    const need = this.#backend === 'system' ? '`backend` is system' : await unmetNeed(folder)
    if (need === undefined) return use(new DiskTransport(folder, this.#reach, this.#backend === 'isomorphic'))
    if (this.#backend === 'embedded' || this.#backend === 'isomorphic') {
      throw new SyncError(
        'unsupported',
        `Cannot read "${this.#path}": ${need}, and \`backend\` is ${this.#backend}; \`backend: system\` reads it`,
      )
    }
    const program = new ProgramTransport({ kind: 'disk', folder }, this.#reach)
    return use(program).catch((cause: unknown) => {
      if (!(cause instanceof SyncError) || cause.code !== 'git-missing') throw cause
      const message = `Cannot read "${this.#path}": ${need}, and the git program, which could read it, is not there`
      throw new SyncError('git-missing', message, { cause })
    })
  }
}
