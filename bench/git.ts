import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runGit } from '../test/support/git/repository.ts'
import { BACKENDS, roadsTo } from './backends.ts'
import type { Backend, Road } from './backends.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import { realistic } from './git-contents.ts'
import type { Ground } from './ground.ts'
import { changed } from './skills.ts'
import type { Skills } from './skills.ts'
import { eachOf, openSources } from './source.ts'
import type { OpenSources } from './source.ts'
import { runAlone } from './table.ts'
import { serveAll } from './upstream.ts'
import type { ServedRepositories } from './upstream.ts'

/** Many repositories of all sizes, as each backend brings them, looks at them and updates one, beside git on the same road. */
export async function measureGit(ground: Ground): Promise<Figure[]> {
  const { quick } = ground
  const contents = quick ? realistic(5, 12) : realistic(50, 60)
  console.log(`git: ${summaryOf(contents)}${quick ? '; --quick: one round of few' : ''}`)
  await using served = await serveAll(contents)
  await using roads = await roadsTo(served)
  const there = BACKENDS.flatMap((backend) => {
    const road = roads[backend.road]
    return road === undefined ? [] : [{ backend, road }]
  })
  if (there.length < BACKENDS.length) console.log('git: no sshd is here, so what goes over ssh is left out')
  const skills = contents.reduce((sum, { documents }) => sum + documents.length, 0)
  const sides: readonly Side[] = [
    ...there.map(({ backend, road }) => new Ours(backend, road, ground, skills)),
    ...[...new Map(there.map(({ backend, road }) => [backend.road, road]))].map(([name, road]) => {
      return new Git(name, road, ground)
    }),
  ]
  const commits = new CommitsAround(served)
  const phases = [
    await rounds(
      quick ? 1 : 3,
      each(sides, (side) => side.first()),
    ),
    await rounds(
      quick ? 1 : 15,
      each(sides, (side) => side.poll()),
    ),
    await rounds(
      quick ? 1 : 15,
      each(sides, (side) => side.update(commits.at)),
      () => commits.next(),
    ),
  ]
  return there.flatMap(({ backend }) => figuresOf(backend, phases))
}

/** Who brings repositories, and what that takes. What is measured later is about what the first round has left. */
interface Side {
  first(): Promise<Times>
  poll(): Promise<Times>
  /** One commit has come, to the repository of this number. */
  update(at: number): Promise<Times>
}

function each(sides: readonly Side[], measure: (side: Side) => Promise<Times>): (() => Promise<Times>)[] {
  return sides.map((side) => () => measure(side))
}

function figuresOf({ name, road }: Backend, [firsts = [], polls = [], updates = []]: readonly Times[][]): Figure[] {
  const figure = (all: readonly Times[], ours: string, reference: string): Figure =>
    figureOf('git', all, [`${name}: ${ours}`, `git, ${road}: ${reference}`])
  return [
    figure(firsts, 'first sync, read', 'clone, read'),
    figure(firsts, 'all objects', 'clone, read'),
    figure(polls, 'polls', 'ls-remotes'),
    figure(updates, 'one commit', 'fetch, checkout'),
  ]
}

class Ours implements Side {
  readonly #backend: Backend
  readonly #road: Road
  readonly #ground: Ground
  readonly #skills: number
  #opened: OpenSources | undefined

  constructor(backend: Backend, road: Road, ground: Ground, skills: number) {
    this.#backend = backend
    this.#road = road
    this.#ground = ground
    this.#skills = skills
  }

  async first(): Promise<Times> {
    const state = join(await this.#ground.fresh(), 'state')
    const firstMs = await timed(async () => {
      const { urls, programs } = this.#road
      this.#opened = await openSources(urls, state, { programs, settings: this.#backend.settings })
      await this.#sources.pull()
      await this.#sources.read()
    })
    const { skills } = this.#sources
    if (skills !== this.#skills) throw new Error(`${this.#backend.name} serves ${skills} skills of ${this.#skills}`)
    const bringMs = await timed(() => this.#sources.bring())
    return this.#named({ 'first sync, read': firstMs, 'all objects': bringMs })
  }

  async poll(): Promise<Times> {
    return this.#named({ polls: await timed(() => this.#expectNew(0, this.#sources.pull())) })
  }

  async update(at: number): Promise<Times> {
    return this.#named({ 'one commit': await timed(() => this.#expectNew(1, this.#sources.pull(this.#road.urls[at]))) })
  }

  async #expectNew(expected: number, pulling: Promise<number>): Promise<void> {
    const updated = await pulling
    if (updated !== expected) throw new Error(`${this.#backend.name} found ${updated} new, and not ${expected}`)
  }

  get #sources(): OpenSources {
    if (this.#opened === undefined) throw new TypeError('Nothing was brought yet')
    return this.#opened
  }

  #named(times: Times): Times {
    return Object.fromEntries(Object.entries(times).map(([what, ms]) => [`${this.#backend.name}: ${what}`, ms]))
  }
}

/** The git program by itself, as somebody would mirror repositories with a script. */
class Git implements Side {
  readonly #name: string
  readonly #road: Road
  readonly #ground: Ground
  /** Of the clones that were made last. */
  #folder = ''

  constructor(name: string, road: Road, ground: Ground) {
    this.#name = name
    this.#road = road
    this.#ground = ground
  }

  async first(): Promise<Times> {
    this.#folder = await this.#ground.fresh()
    const ms = await this.#timedOfAll(async (url, clone) => {
      await this.#git('clone', '--quiet', '--depth', '1', url, clone)
      await readAll(clone)
    })
    return { [`git, ${this.#name}: clone, read`]: ms }
  }

  async poll(): Promise<Times> {
    const ms = await this.#timedOfAll((url) => this.#git('ls-remote', '--symref', url, 'HEAD'))
    return { [`git, ${this.#name}: ls-remotes`]: ms }
  }

  async update(at: number): Promise<Times> {
    const clone = this.#cloneOf(at)
    const ms = await timed(async () => {
      await this.#git('-C', clone, 'fetch', '--quiet', '--depth', '1', 'origin', 'HEAD')
      await this.#git('-C', clone, 'checkout', '--quiet', '--detach', 'FETCH_HEAD')
    })
    return { [`git, ${this.#name}: fetch, checkout`]: ms }
  }

  async #timedOfAll(work: (url: string, clone: string) => Promise<void>): Promise<number> {
    const numbered = [...this.#road.urls.entries()]
    return timed(() => eachOf(numbered, ([at, url]) => work(url, this.#cloneOf(at))))
  }

  async #git(...args: string[]): Promise<void> {
    await runGit([...this.#road.options, ...args])
  }

  #cloneOf(at: number): string {
    return join(this.#folder, String(at))
  }
}

async function readAll(clone: string): Promise<void> {
  for (const entry of await readdir(clone, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() && !entry.parentPath.startsWith(join(clone, '.git'))) {
      await readFile(join(entry.parentPath, entry.name))
    }
  }
}

/** Changes one SKILL.md, of one repository after the other, the small and the large in turn. */
class CommitsAround {
  readonly #served: ServedRepositories
  #count = 0
  /** The number of the repository that was changed last. */
  at = 0

  constructor(served: ServedRepositories) {
    this.#served = served
  }

  async next(): Promise<void> {
    this.#count += 1
    // No number of repositories here has a divisor in common with it, so all come in turn.
    this.at = (this.#count * STRIDE) % this.#served.all.length
    const { repository, skills } = this.#served.all[this.at] ?? {}
    const [path = ''] = skills?.documents ?? []
    await repository?.commit({ [path]: changed(skills?.files[path], `Change ${this.#count}.`) })
  }
}

const STRIDE = 17

function summaryOf(contents: readonly Skills[]): string {
  const paths = contents.flatMap(({ files }) => Object.keys(files))
  const bytes = contents
    .flatMap(({ files }) => Object.values(files))
    .reduce((sum, content) => sum + (typeof content === 'string' ? content.length : JSON.stringify(content).length), 0)
  const outside = paths.filter((path) => !path.startsWith('skills/')).length
  const counts = contents.map(({ documents }) => documents.length)
  return (
    `${contents.length} repositories of ${Math.min(...counts)} to ${Math.max(...counts)} skills; ` +
    `${counts.reduce((sum, one) => sum + one, 0)} skills, ${paths.length} files, of which ${outside} outside of skills, ` +
    `${(bytes / 2 ** 20).toFixed(1)} MiB`
  )
}

await runAlone(import.meta.url, measureGit)
