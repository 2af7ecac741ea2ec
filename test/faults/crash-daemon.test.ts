import { randomInt } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFailed, test } from 'vitest'
import { isTemporary } from '../../src/sync/store/files/atomic.ts'
import { contentOf, digestOf } from '../conformance/peers.ts'
import { skill } from '../e2e/world.ts'
import { Dice } from '../fuzz/dice.ts'
import { modernHttp } from '../support/clients/peer.ts'
import type { Peer } from '../support/clients/peer.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { hasProgram } from '../support/process/has-program.ts'
import { Home } from '../support/process/program.ts'
import { servedFiles } from './served-files.ts'
import { listingOf } from './witness.ts'
import type { Listing } from './witness.ts'

const KILLS = 30

/** Of what is random; `CRASH_SEED` has an earlier run again, as far as the machine is as quick. */
const SEED = Number(process.env['CRASH_SEED'] ?? randomInt(2 ** 31))

test('a daemon that is killed thirty times while commits come in never serves but one of them, whole, and never an older one', async () => {
  await using scene = await Commits.set()
  let newest = NOTHING_YET
  const dice = new Dice(SEED, 0)
  onTestFailed(() => void process.stderr.write(`It was with CRASH_SEED=${SEED}\n`))

  for (let kill = 0; kill < KILLS; kill += 1) {
    const daemon = scene.home.start('start')
    const reader = await modernHttp(await daemon.line())
    const since = scene.git.requests.length
    await scene.commit()
    if (kill % 2 === 0) await scene.git.requested(({ body }) => body.includes(`want ${scene.tip}`), since)
    for (let reads = dice.below(40); reads >= 0; reads -= 1) {
      newest = await scene.servedTo(reader, newest)
    }
    await daemon.kill()

    newest = scene.commitOf(await servedFiles(scene.home.state), newest)
  }
  const daemon = scene.home.start('start')
  const reader = await modernHttp(await daemon.line())
  while (newest < scene.count) newest = await scene.servedTo(reader, newest)
  const ended = await daemon.stop()

  expect(ended.status).toBe(0)
  expect(await litterIn(scene.home.state)).toEqual([])
  expect(await readdir(join(scene.home.path, 'run', 'skillsyncd'))).toEqual([])
})

const OBSTACLE = hasProgram('strace') ? '' : ': there is no strace'

test.skipIf(OBSTACLE !== '')(
  `SIGTERM in the middle of a publish on a slow disk ends it in time, and leaves no partial files${OBSTACLE}`,
  async () => {
    await using scene = await Commits.set()
    await scene.home.command('sync')
    await scene.commit()
    const log = join(scene.home.path, 'calls')
    const slow = `inject=fsync:delay_enter=${SLOW_US}`
    // With -D it is strace that is started by the daemon: whoever kills the daemon leaves neither.
    scene.home.under = ['strace', '-D', '-f', '-qq', '-y', '-o', log, '-e', 'trace=fsync', '-e', slow]
    const traced = scene.home.start('start')
    // The files of a skill are being brought to the disk.
    await traced.said((line) => line.includes('"started"'))
    const before = await readFile(log, 'utf8')
    const synced = async (): Promise<string> => (await readFile(log, 'utf8')).slice(before.length)
    await expect.poll(synced).toMatch(/fsync\(\d+<[^>]*\/store\.db-wal/)

    const ended = await traced.stop()

    expect(ended).toMatchObject({ status: 0, signal: null })
    // Of those that were still to come, only a few were made: a service manager waits for half a minute.
    expect((await readFile(log, 'utf8')).split('\n').length * SLOW_US).toBeLessThan(STOP_US)
    scene.commitOf(await servedFiles(scene.home.state), 1)
    expect(await litterIn(scene.home.state)).toEqual([])
    expect(await readdir(scene.home.state)).not.toContain('daemon.lock')
  },
)

/** In place of the number of a commit, which begin at 1. */
const NOTHING_YET = 0

const SLOW_US = 200_000

/** `TimeoutStopSec` of our units. */
const STOP_US = 30_000_000

/** A source with commits that are told apart by each of their files. */
class Commits implements AsyncDisposable {
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

  static async set(): Promise<Commits> {
    const scene = new Commits(await Home.create(), await GitServer.start(), await Repository.create())
    await scene.commit()
    await scene.home.configure({ team: [`url: ${scene.git.serve('team', scene.#repository)}`, 'every: 1s'] })
    return scene
  }

  async commit(): Promise<void> {
    this.count += 1
    this.tip = await this.#repository.commit(filesAt(this.count))
  }

  /** Which commit the files on the disk are, each as `path=text`. It is not older than the one that is given. */
  commitOf(files: readonly string[], newest: number): number {
    const at = this.#indexOf(files.toSorted(), (index) =>
      Object.entries(filesAt(index)).map(([path, text]) => `${path}=${text}`),
    )
    expect(at, 'on the disk').toBeGreaterThanOrEqual(newest)
    return at
  }

  /** Lists and reads everything once, and says which commit it is. */
  async servedTo(reader: Peer, newest: number): Promise<number> {
    const listing = linesOf(await listingOf(reader))
    const at = this.#indexOf(listing, (index) =>
      Object.entries(filesAt(index)).map(([path, text]) => line(`skill://team/${path}`, Buffer.from(text))),
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
async function litterIn(state: string): Promise<readonly string[]> {
  const names = await readdir(state, { recursive: true })
  return names.filter(
    (name) => /(?:^|\/)tmp\//.test(name) || name.split('/').some(isTemporary) || name.includes('.lock'),
  )
}
