import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { Repository } from '../../support/git/repository.ts'
import { Home } from '../../support/process/program.ts'
import type { Program } from '../../support/process/program.ts'
import { World } from '../world.ts'

const run = promisify(execFile)

/** A repository of a configuration on a git server, with the lock that a hub follows from there. */
export class LockSite implements AsyncDisposable {
  readonly world: World
  readonly config: Repository
  /** The address of the repository of the configuration. */
  readonly url: string

  private constructor(world: World, config: Repository, url: string) {
    this.world = world
    this.config = config
    this.url = url
  }

  static async create(from: readonly string[] = [], source: readonly string[] = []): Promise<LockSite> {
    const world = await World.create(['update: locked', 'every: 1h', ...source])
    const config = await Repository.create()
    const site = new LockSite(world, config, world.git.serve('config', config))
    await site.follow(from, source)
    await config.commit({ 'skillsyncd.yaml': await readFile(world.home.configFile, 'utf8') })
    return site
  }

  get home(): Home {
    return this.world.home
  }

  /** Writes the configuration of the hub, with these lines about the repository of the lock. */
  async follow(from: readonly string[] = [], source: readonly string[] = []): Promise<void> {
    await this.home.configure(
      {
        team: [`url: ${this.world.git.serve('team', this.world.repository)}`, 'update: locked', 'every: 1h', ...source],
      },
      [
        'lock:',
        '  every: 1h',
        '  from:',
        `    git: ${this.url}`,
        ...(await webhookLines(this.home)),
        ...from.map((line) => `    ${line}`),
      ],
    )
  }

  /** Moves the lock as a job does, in a clone, and returns the text of its pull request. Nothing is merged. */
  async propose(): Promise<{ readonly text: string; readonly lock: string }> {
    const job = await Home.create()
    const clone = join(job.path, 'clone')
    await run('git', ['clone', '--quiet', this.url, clone], { env: job.env })
    const file = join(clone, 'skills.lock')
    const { stdout } = await job.command('--config', join(clone, 'skillsyncd.yaml'), 'update', '--pr', '--lock', file)
    return { text: stdout, lock: await readFile(file, 'utf8') }
  }

  /** A person merges a lock. Returns the commit. */
  async merge(lock: string): Promise<string> {
    return this.config.commit({ 'skills.lock': lock })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]()
    await this.config[Symbol.asyncDispose]()
  }
}

/** The lines about the webhook of the repository of the lock. Its secret is in this home. */
export async function webhookLines(home: Home): Promise<string[]> {
  const secret = join(home.path, 'secret')
  await writeFile(secret, SECRET, { mode: 0o600 })
  return [`    webhook: { provider: generic, secret: { file: ${secret} } }`]
}

/** The git host reports a push to the repository of the lock. */
export async function reportPush(address: string): Promise<void> {
  const body = String(Math.random())
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  const headers = { 'x-skillsyncd-signature': `sha256=${signature}` }
  const answer = await fetch(new URL('/hooks/skills-lock', address), { method: 'POST', body, headers })
  expect(answer.status).toBe(202)
}

const SECRET = 'secret-of-the-webhook'

/** The lock in `status --json` of a home. */
export async function lockOf(home: Home): Promise<{
  readonly followed: number
  readonly error?: string
  readonly from: { readonly commit?: string; readonly problem?: { readonly code: string; readonly fix: string } }
}> {
  return JSON.parse((await home.command('status', '--json')).stdout).lock
}

/** Resolves when the program logs an event that has the text, from now on or since `since` characters. */
export async function logged(program: Program, event: string, text: string, since = 0): Promise<void> {
  await program.said((line) => line.includes(event) && line.includes(text), since)
}
