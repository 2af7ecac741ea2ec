import { expect } from 'vitest'
import { storedSkill, type StoredSkill } from '../../src/sync/store/skills/stored-path.ts'
import { Store } from '../../src/sync/store/store.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { Home } from '../support/process/program.ts'

/** A home with the source `team`, which has the skill `alpha`. */
export class World implements AsyncDisposable {
  readonly home: Home
  readonly git: GitServer
  readonly repository: Repository

  private constructor(home: Home, git: GitServer, repository: Repository) {
    this.home = home
    this.git = git
    this.repository = repository
  }

  static async create(source?: readonly string[]): Promise<World> {
    return World.#in(await Home.create(), source)
  }

  /** Makes one for several tests: `afterAll` disposes of it. */
  static async createShared(source?: readonly string[]): Promise<World> {
    return World.#in(await Home.createShared(), source)
  }

  static async #in(home: Home, source: readonly string[] = ['every: 1h']): Promise<World> {
    const git = await GitServer.start()
    const repository = await Repository.create()
    await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
    await home.configure({ team: [`url: ${git.serve('team', repository)}`, ...source] })
    return new World(home, git, repository)
  }

  /** Brings the first generation. */
  async synced(): Promise<void> {
    expect(await this.home.command('sync')).toMatchObject({ status: 0 })
  }

  /** The only skill that is published. */
  async stored(): Promise<StoredSkill> {
    using store = await Store.openExisting(this.home.state)
    const [held] = (await store!.generations.current())!.sources
    return storedSkill((await store!.snapshots.read(held!.snapshot)).skills[0]!)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    await this.git[Symbol.asyncDispose]()
    await this.repository[Symbol.asyncDispose]()
  }
}

/** A SKILL.md. */
export function skill(name: string, body: string): string {
  return `---\nname: ${name}\ndescription: ${name} of the tests\n---\n${body}\n`
}
