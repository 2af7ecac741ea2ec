import { readdir } from 'node:fs/promises'
import { expect } from 'vitest'
import { isTemporary } from '../../src/sync/store/files/atomic.ts'
import { contentOf, digestOf } from '../conformance/peers.ts'
import { skill } from '../e2e/world.ts'
import type { Peer } from '../support/clients/peer.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { Home } from '../support/process/program.ts'
import { listingOf } from './witness.ts'
import type { Listing } from './witness.ts'

/** In place of the number of a commit, which begin at 1. */
export const NOTHING_YET = 0

/** A source with commits that are told apart by each of their files. */
export class Commits implements AsyncDisposable {
  readonly home: Home
  readonly git: GitServer
  readonly #repository: Repository
  /** Of commits so far; the first is number 1. */
  count = 0
  tip = ''

  private constructor(home: Home, git: GitServer, repository: Repository) {
    this.home = home
    this.git = git
    this.#repository = repository
  }

  /** `rest`: lines of the top level of the configuration. */
  static async set(rest: readonly string[] = []): Promise<Commits> {
    const scene = new Commits(await Home.create(), await GitServer.start(), await Repository.create())
    await scene.commit()
    await scene.home.configure({ team: [`url: ${scene.git.serve('team', scene.#repository)}`, 'every: 1s'] }, rest)
    return scene
  }

  async commit(): Promise<void> {
    this.count += 1
    this.tip = await this.#repository.commit(filesAt(this.count))
  }

  /** Which commit the files on the disk are, each as `path=text`. It is not older than the one that is given. */
  commitOf(files: readonly string[], newest: number, below = ''): number {
    const at = this.#indexOf(files.toSorted(), (index) =>
      Object.entries(filesAt(index)).map(([path, text]) => `${below}${path}=${text}`),
    )
    expect(at, 'on the disk').toBeGreaterThanOrEqual(newest)
    return at
  }

  /** Lists and reads everything once, and says which commit it is. `below`: the URI that the files are below. */
  async servedTo(reader: Peer, newest: number, below = 'skill://team/'): Promise<number> {
    const listing = linesOf(await listingOf(reader))
    const at = this.#indexOf(listing, (index) =>
      Object.entries(filesAt(index)).map(([path, text]) => line(`${below}${path}`, Buffer.from(text))),
    )
    expect(at, 'served').toBeGreaterThanOrEqual(newest)
    const uris = listing.map((each) => each.split(' ')[0] ?? '')
    const read: string[] = []
    for (const uri of uris) read.push(line(uri, contentOf(await reader.call('resources/read', { uri })).bytes))
    // What is read after a new generation came is of that one.
    if (JSON.stringify(linesOf(await listingOf(reader))) === JSON.stringify(listing)) expect(read).toEqual(listing)
    return at
  }

  #indexOf(found: readonly string[], linesAt: (index: number) => readonly string[]): number {
    if (found.length === 0) return NOTHING_YET
    const text = JSON.stringify(found)
    for (let index = this.count; index > NOTHING_YET; index -= 1) {
      if (JSON.stringify(linesAt(index).toSorted()) === text) return index
    }
    throw new Error(`None of ${this.count} commits: ${text}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    await this.git[Symbol.asyncDispose]()
    await this.#repository[Symbol.asyncDispose]()
  }
}

function filesAt(commit: number): Record<string, string> {
  const skills = Array.from({ length: 4 }, (_, index) => `skill-${index}`)
  return Object.fromEntries(
    skills.flatMap((name) => [
      [`${name}/SKILL.md`, skill(name, `commit ${commit}`)],
      [`${name}/references/more.md`, `${name} at commit ${commit}\n`],
    ]),
  )
}

function linesOf(listing: Listing): readonly string[] {
  return [...listing].map(([uri, state]) => `${uri} ${state}`).toSorted()
}

function line(uri: string, bytes: Uint8Array): string {
  return `${uri} ${digestOf(bytes)} ${bytes.length}`
}

/** What no process needs any more that is gone. */
export async function litterIn(state: string): Promise<readonly string[]> {
  const names = await readdir(state, { recursive: true })
  return names.filter(
    (name) => /(?:^|\/)tmp\//.test(name) || name.split('/').some(isTemporary) || name.includes('.lock'),
  )
}
