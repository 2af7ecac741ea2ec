import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
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

  /** Where the only SKILL.md lies. */
  async storedDocument(): Promise<string> {
    const skills = join(this.home.state, 'skills')
    const files = await readdir(skills, { recursive: true })
    return join(
      skills,
      files.find((path) => path.endsWith('SKILL.md'))!,
    )
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
