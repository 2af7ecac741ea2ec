import { expect } from 'vitest'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'
import { postgresPrograms, startPostgres } from '../../support/postgres.ts'
import type { Postgres } from '../../support/postgres.ts'
import { Home } from '../../support/process/program.ts'
import type { Program } from '../../support/process/program.ts'
import { skill } from '../world.ts'

export const programs = await postgresPrograms()

/** A hub of several processes, each with a home of its own, on one database. */
export class Hub implements AsyncDisposable {
  readonly postgres: Postgres
  readonly git: GitServer
  readonly repository: Repository
  readonly database: string
  readonly members: Member[] = []

  private constructor(parts: Pick<Hub, 'postgres' | 'git' | 'repository' | 'database'>) {
    this.postgres = parts.postgres
    this.git = parts.git
    this.repository = parts.repository
    this.database = parts.database
  }

  static async create(): Promise<Hub> {
    const postgres = await startPostgres(programs ?? '')
    const git = await GitServer.start()
    const repository = await Repository.create()
    await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
    return new Hub({ postgres, git, repository, database: await postgres.createDatabase() })
  }

  /** Starts one more process, and waits until it listens. */
  async start(source: readonly string[] = ['every: 1s'], rest: readonly string[] = []): Promise<Member> {
    const home = await Home.create()
    home.env['SKILLSYNCD_DATABASE_URL'] = this.database
    await home.configure({ team: [`url: ${this.git.serve('team', this.repository)}`, ...source] }, [
      'store:',
      '  postgres:',
      '    url: { env: SKILLSYNCD_DATABASE_URL }',
      ...rest,
    ])
    const member = new Member(home)
    this.members.push(member)
    await member.start()
    return member
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { home } of this.members) await home[Symbol.asyncDispose]()
    await this.git[Symbol.asyncDispose]()
    await this.repository[Symbol.asyncDispose]()
    await this.postgres[Symbol.asyncDispose]()
  }
}

/** One process of the hub. */
export class Member {
  readonly home: Home
  url = ''
  #program: Program | undefined

  constructor(home: Home) {
    this.home = home
  }

  get program(): Program {
    if (this.#program === undefined) throw new Error('The process was not started')
    return this.#program
  }

  async start(...options: readonly string[]): Promise<void> {
    this.#program = this.home.start('start', '--port', '0', ...options)
    this.url = await this.#program.line()
  }

  /** Runs a command at this process. */
  async command(...args: string[]): ReturnType<Home['command']> {
    return this.home.command(...args)
  }

  async status(): Promise<{
    readonly generation: number
    readonly skills: number
    readonly replicas?: {
      readonly id: string
      readonly leads: boolean
      readonly leader?: { readonly id: string }
      readonly processes: readonly { readonly id: string; readonly generation: number }[]
      readonly away?: { readonly message: string }
    }
  }> {
    const { stdout, stderr } = await this.home.command('status', '--json')
    expect(stderr).toBe('')
    return JSON.parse(stdout)
  }

  /** True if this process leads. */
  async leads(): Promise<boolean> {
    return (await this.status()).replicas?.leads === true
  }

  /** Waits until this process serves skills that the check accepts; returns the output of `list`. */
  async lists(text: string): Promise<void> {
    await expect
      .poll(async () => (await this.command('list')).stdout, { timeout: 30_000, interval: 200 })
      .toContain(text)
  }
}
