import { mkdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/async/clock.ts'
import type { Clock } from '../../src/base/async/clock.ts'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import type { WholeConfig } from '../../src/daemon/configuration.ts'
import { parseConfig } from '../../src/daemon/configuration.ts'
import { Follower } from '../../src/daemon/follower.ts'
import { createLog } from '../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../src/daemon/runtime/log/redactor.ts'
import { methodsOf } from '../../src/serve/mcp/core/methods.ts'
import { lockEntryOf, type Lock } from '../../src/sync/model/decisions/lock.ts'
import { changeLock } from '../../src/sync/store/lock-file.ts'
import { Store } from '../../src/sync/store/store.ts'
import { changeDatabase, damageObject } from '../support/damage.ts'
import { setDisabled } from '../support/decided.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { numbered, publishSamples } from '../sync/store/samples.ts'

test('a follower serves the generation that is there when it opens', async () => {
  await using desk = await Desk.open()
  await desk.publish(1)

  await using follower = await desk.follow()

  expect(uris(follower)).toEqual(['skill://team/skill-1/SKILL.md'])
})

test('a new generation is noticed by itself, and what moved is told', async () => {
  await using desk = await Desk.open()
  await desk.publish(1)
  await using follower = await desk.follow()
  const changed = nextChange(follower)

  await desk.publish(1, 2)

  expect([...(await changed).added]).toContain('skill://team/skill-2/SKILL.md')
  expect(uris(follower)).toEqual(['skill://team/skill-1/SKILL.md', 'skill://team/skill-2/SKILL.md'])
})

test('a look at a head that did not move tells nobody anything', async () => {
  await using desk = await Desk.open()
  await desk.publish(1)
  await using follower = await desk.follow()
  const { catalog } = follower.registry

  await Promise.all([follower.look(), follower.look()])

  expect(follower.registry.catalog).toBe(catalog)
})

test('the first generation ends the wait for one, and a wait without one ends by itself', async () => {
  await using desk = await Desk.open()
  await using follower = await desk.follow()
  const never = new AbortController().signal

  await follower.hasGeneration(1, never)
  const before = uris(follower)
  const waiting = follower.hasGeneration(60_000, never)
  await desk.publish(1)
  await waiting

  expect(before).toEqual([])
  expect(uris(follower)).toHaveLength(1)
})

test('who waits for a generation and is stopped waits no longer', async () => {
  await using desk = await Desk.open()
  await using follower = await desk.follow()
  const stop = new AbortController()
  const waiting = follower.hasGeneration(60_000, stop.signal)

  stop.abort()

  await expect(waiting).resolves.toBeUndefined()
})

test('a follower that follows the lock looks at it again, although the generation is the same', async () => {
  await using desk = await Desk.open()
  await desk.publish(1)
  await desk.lock()
  await using follower = await desk.follow('update: locked')
  const locked = uris(follower)
  const text = await readFile(desk.lockFile, 'utf8')

  await writeFile(desk.lockFile, '{"sources":{},"version":1}\n')
  await follower.look()
  const without = uris(follower)
  await writeFile(desk.lockFile, text)
  await follower.look()

  expect([locked, without]).toEqual([['skill://team/skill-1/SKILL.md'], []])
  expect(uris(follower)).toEqual(locked)
})

test('a skill that is disabled is noticed by itself, and stays so where the decisions are damaged', async () => {
  await using desk = await Desk.open()
  await desk.publish(1, 2)
  await using follower = await desk.follow()
  const { decisions } = desk.store
  const [source] = follower.registry.catalog.snapshots
  const [first] = source!.skills
  const changed = nextChange(follower)

  await setDisabled(decisions, source!.source, first!.path, true)
  await changed
  const without = uris(follower)
  await writeFile(decisions.file, '{')
  await writeFile(decisions.copy, '{')
  await desk.publish(1, 2, 3)
  await follower.look()
  const damaged = uris(follower)
  await writeFile(decisions.file, '{"rules":[]}')
  await follower.look()

  expect(without).toEqual(['skill://team/skill-2/SKILL.md'])
  expect(damaged).toEqual(['skill://team/skill-2/SKILL.md', 'skill://team/skill-3/SKILL.md'])
  expect(desk.lines()).toMatchObject([{ event: 'decisions-not-read' }, { event: 'recovered' }])
  expect(uris(follower)).toHaveLength(3)
})

test('a follower that never could read what is disabled serves nothing until a person mended it', async () => {
  await using desk = await Desk.open()
  await desk.publish(1, 2)
  const { decisions } = desk.store
  const [source] = (await desk.store.generations.current())!.sources
  await setDisabled(decisions, source!.source, 'skill-1', true)
  const sound = await readFile(decisions.file)
  await writeFile(decisions.file, Buffer.alloc(sound.length))
  await rm(decisions.copy)
  await mkdir(decisions.copy)

  await using follower = await desk.follow()
  const unknown = uris(follower)
  await rmdir(decisions.copy)
  await writeFile(decisions.copy, sound)
  await follower.look()

  expect([unknown, uris(follower)]).toEqual([[], ['skill://team/skill-2/SKILL.md']])
  expect(desk.lines()).toMatchObject([
    { event: 'decisions-not-read' },
    { event: 'recovered' },
    { event: 'decisions-damaged' },
  ])
})

test('a source that is not in the configuration is not served', async () => {
  await using desk = await Desk.open('other')
  await desk.publish(1)

  await using follower = await desk.follow()

  expect(uris(follower)).toEqual([])
})

test('a head that leads nowhere leaves what is served', async () => {
  await using desk = await Desk.open()
  await desk.publish(1)
  await using follower = await desk.follow()

  changeDatabase(desk.store, `INSERT INTO head (sequence, generation) VALUES (99, x'${'0'.repeat(64)}')`)
  await follower.look()

  expect(uris(follower)).toEqual(['skill://team/skill-1/SKILL.md'])
})

test('a head that cannot be read is told once and ends nothing, and so is that it can be again', async () => {
  await using desk = await Desk.open()
  await desk.publish(1)
  await using follower = await desk.follow()
  changeDatabase(desk.store, 'ALTER TABLE head RENAME TO aside')

  for (let looks = 0; looks < 3; looks += 1) await follower.look()
  const during = uris(follower)
  changeDatabase(desk.store, 'ALTER TABLE aside RENAME TO head')
  await follower.look()

  expect(during).toEqual(['skill://team/skill-1/SKILL.md'])
  expect(desk.lines()).toMatchObject([
    { event: 'generation-not-read', code: 'store-failed', message: expect.stringContaining('no such table') },
    { event: 'recovered' },
  ])
})

test('a stored file that was damaged is not read; a daemon of this process reads in its place while there is one', async () => {
  await using desk = await Desk.open()
  await desk.publish(1)
  await using follower = await desk.follow()
  const { skill, file } = follower.registry.catalog.files.get('skill://team/skill-1/SKILL.md')!
  const { serving } = follower
  const sound = await serving.read(skill, file)
  damageObject(desk.store, file.sha256)

  const alone = await serving.read(skill, file)
  const daemon = follower.readWith(async () => sound)
  const together = await serving.read(skill, file)
  daemon[Symbol.dispose]()
  const after = await serving.read(skill, file)

  expect([alone, together, after]).toEqual([undefined, sound, undefined])
})

test('a tool that is called before it is known who writes waits for that, and has what the writer finds', async () => {
  await using desk = await Desk.open()
  await desk.publish(1)
  desk.clock = new FakeClock()
  await using follower = await desk.follow()

  const called = idsOffered(follower)
  const daemon = follower.lookWith(async () => desk.publish(1, 2))
  const found = await called
  daemon[Symbol.dispose]()

  expect(found).toEqual(['skill-1', 'skill-2'])
  // By now another process would write, and none does.
  expect(await idsOffered(follower)).toEqual(found)
})

test('a tool is answered from what there is where nobody writes, or the writer looks for too long', async () => {
  await using desk = await Desk.open()
  await desk.publish(1)
  const clock = new FakeClock()
  desk.clock = clock
  await using follower = await desk.follow()
  const { promise, resolve } = Promise.withResolvers<void>()

  follower.writesElsewhere()
  const nobody = await idsOffered(follower)
  using _daemon = follower.lookWith(() => promise)
  const called = idsOffered(follower)
  await clock.advance(2_000)
  const late = await called
  resolve()

  expect([nobody, late]).toEqual([['skill-1'], ['skill-1']])
})

test('a call that finds that nobody writes has somebody take over, and has what that finds', async () => {
  await using desk = await Desk.open()
  await desk.publish(1)
  desk.clock = new FakeClock()
  await using follower = await desk.follow()
  const asked: string[] = []

  follower.writesElsewhere(() => {
    asked.push('first')
    // Who was quicker does not listen yet.
    follower.writesElsewhere(() => {
      asked.push('second')
      follower.lookWith(async () => desk.publish(1, 2))
    })
  })
  const found = await Promise.all([idsOffered(follower), idsOffered(follower)])

  expect(found).toEqual([
    ['skill-1', 'skill-2'],
    ['skill-1', 'skill-2'],
  ])
  expect([...new Set(asked)]).toEqual(['first', 'second'])
})

test('nobody is asked any more for a call that is over', async () => {
  await using desk = await Desk.open()
  await desk.publish(1)
  const clock = new FakeClock()
  desk.clock = clock
  await using follower = await desk.follow()
  const tookOver = Promise.withResolvers<void>()
  let looks = 0

  follower.writesElsewhere(() => tookOver.resolve())
  const called = idsOffered(follower)
  await tookOver.promise
  await clock.advance(2_000)
  const late = await called
  follower.lookWith(async () => (looks += 1))
  await idsOffered(follower)

  expect([late, looks]).toEqual([['skill-1'], 1])
})

async function idsOffered(follower: Follower): Promise<string[]> {
  const call = methodsOf(follower.serving)['tools/call']!
  const answer: any = await call({ name: 'list_skills' }, { era: 'modern' }, new AbortController().signal)
  return JSON.parse(answer.content[0].text).map(({ id }: { readonly id: string }) => id)
}

/** A state folder, with somebody who writes it and somebody who follows. */
class Desk implements AsyncDisposable {
  readonly store: Store
  /** Whose time passes for followers. */
  clock: Clock = systemClock
  readonly #source: string
  readonly #folder: AsyncDisposable
  #logged = ''

  private constructor(store: Store, source: string, folder: AsyncDisposable) {
    this.store = store
    this.#source = source
    this.#folder = folder
  }

  static async open(source = 'team'): Promise<Desk> {
    const folder = await temporaryFolder()
    return new Desk(await Store.open(join(folder.path, 'state')), source, folder)
  }

  /** Publishes these skills as the source `team`. */
  async publish(...numbers: readonly number[]): Promise<void> {
    await publishSamples(this.store, new Date(), ...numbers.map(numbered))
  }

  /** What was logged, a value for each line. */
  lines(): unknown[] {
    return this.#logged
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  }

  get lockFile(): string {
    return join(dirname(this.store.folder.path), 'skills.lock')
  }

  /** Locks what is served. */
  async lock(): Promise<void> {
    const [held] = (await this.store.generations.current())!.sources
    const snapshot = await this.store.snapshots.read(held!.snapshot)
    const { source } = this.#config().sources[0]!
    const change = (lock: Lock): Lock => ({ ...lock, sources: new Map([[source.id, lockEntryOf(source, snapshot)]]) })
    await changeLock(this.lockFile, change, Date.now, new AbortController().signal)
  }

  #config(...more: readonly string[]): WholeConfig {
    const source = [`- id: ${this.#source}`, 'url: https://git.example.com/skills.git', ...more].join('\n    ')
    const yaml = `sources:\n  ${source}\nstate: ${this.store.folder.path}\nlock: ${this.lockFile}\n`
    const config = parseConfig(yaml, 'skillsyncd.yaml', environmentOf({}, '/home/me'))
    if (Array.isArray(config)) throw new Error(JSON.stringify(config))
    return config
  }

  async follow(...more: readonly string[]): Promise<Follower> {
    const config = this.#config(...more)
    const redactor = new Redactor()
    const stream = { write: (text: string) => (this.#logged += text) }
    const log = createLog({ level: 'info', stream, format: 'json', journal: false, clock: new FakeClock(), redactor })
    return Follower.open(config, log, this.clock)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]()
  }
}

function uris(follower: Follower): string[] {
  return follower.registry.catalog.listed.map(({ uri }) => uri)
}

async function nextChange(follower: Follower): Promise<{ readonly added: Iterable<string> }> {
  const { promise, resolve } = Promise.withResolvers<{ readonly added: Iterable<string> }>()
  using _listening = follower.registry.listen((changes) => resolve(changes))
  return await promise
}
