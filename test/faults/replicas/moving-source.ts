import { createHash } from 'node:crypto'
import { skill } from '../../e2e/world.ts'
import type { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'

/** A source of a hub, with a skill that each commit changes. */
export class MovingSource implements AsyncDisposable {
  readonly id: string
  readonly url: string
  /** The URI of the file that each commit changes. */
  readonly uri: string
  /** The number of commits. */
  count = 0
  /** The last commit. */
  tip = ''
  readonly #repository: Repository
  /** The number of the commit of each SKILL.md, by its SHA-256. */
  readonly #commits = new Map<string, number>()

  private constructor(id: string, url: string, repository: Repository) {
    this.id = id
    this.url = url
    this.uri = `skill://${id}/moving/SKILL.md`
    this.#repository = repository
  }

  /** Creates it with its first commit. */
  static async create(id: string, git: GitServer): Promise<MovingSource> {
    const repository = await Repository.create()
    const source = new MovingSource(id, git.serve(id, repository), repository)
    await source.commit()
    return source
  }

  /** `files`: other files that the commit changes. */
  async commit(files: Readonly<Record<string, Uint8Array>> = {}): Promise<void> {
    const text = skill('moving', `commit ${this.count + 1} of ${this.id}`)
    this.#commits.set(sha256Of(Buffer.from(text)), this.count + 1)
    this.tip = await this.#repository.commit({
      'moving/SKILL.md': text,
      'still/SKILL.md': skill('still', 'the same'),
      ...files,
    })
    this.count += 1
  }

  /** Returns the number of the commit whose file has these bytes. Throws if there is none. */
  commitOf(bytes: Uint8Array): number {
    const commit = this.#commits.get(sha256Of(bytes))
    if (commit === undefined)
      throw new Error(`${this.uri} has the bytes of no commit: ${Buffer.from(bytes).toString()}`)
    return commit
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#repository[Symbol.asyncDispose]()
  }
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
