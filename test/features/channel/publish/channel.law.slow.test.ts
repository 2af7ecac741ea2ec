import { readFile, readdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Pack } from '../../../../src/sync/catalog/pack.ts'
import { HAS_ALL_RUNS, lawRuns } from '../../../support/law-runs.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { Follower } from '../follow/follower.ts'
import type { Skills } from '../follow/follower.ts'
import { skillNamed, startFileServer } from '../follow/site.ts'
import type { Meddle, ReadFile } from '../follow/site.ts'
import { Hub, skillsOf } from './hub.ts'
import type { Content } from './hub.ts'

const SKILLS = ['a/one', 'a/two', 'a/three', 'b/one', 'b/two'] as const

const WEB: Pack = {
  id: 'web',
  description: undefined,
  include: [{ source: 'a' }, { path: 'one' }],
  exclude: [{ path: 'three' }],
}

/** The skills of both sources that belong to the pack. */
const OF_WEB: ReadonlySet<string> = new Set(['a/one', 'a/two', 'b/one'])

const CHANGE = fc.oneof(
  /** The skills that are served from now on, each with the number of its text. */
  fc.record({ kind: fc.constant('commit' as const), served: fc.dictionary(fc.constantFrom(...SKILLS), fc.nat(2)) }),
  /** The skills of an earlier step again. */
  fc.record({ kind: fc.constant('rollback' as const), to: fc.nat(7) }),
  /** A skill is disabled, or enabled again. */
  fc.record({ kind: fc.constant('toggle' as const), skill: fc.constantFrom(...SKILLS) }),
  /** Nothing but time passes: the hub adds an entry with the same content. */
  fc.record({ kind: fc.constant('quiet' as const) }),
)

const kill = (calls: number) => fc.record({ call: fc.nat(calls), isDone: fc.boolean() })

const FAULT = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ kind: 'none' } as const) },
  /** An answer ends at a part of its bytes, and so does each later one, or none; in a folder a file ends there. */
  fc.record({
    kind: fc.constant('cut' as const),
    answer: fc.nat(12),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
    isLast: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('kill' as const), kill: kill(12) }),
)

const STEP = fc.record({
  change: CHANGE,
  /** The hub is killed while it publishes, and leaves so many bytes of an entry. */
  hubKill: fc.option(fc.record({ kill: kill(40), torn: fc.nat(100) }), { nil: undefined, freq: 3 }),
  fault: FAULT,
  followerReopens: fc.boolean(),
  hubReopens: fc.boolean(),
  isPulled: fc.boolean(),
})

const HISTORY = fc.record({
  steps: fc.array(STEP, { minLength: 1, maxLength: 8 }),
  place: fc.constantFrom('http' as const, 'folder' as const),
  isOfPack: fc.boolean(),
  /** The entries that the log has more than the steps: a folder is swept after 64, and a tile is full after 256. */
  more: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    fc.integer({ min: 56, max: 63 }),
    fc.integer({ min: 249, max: 255 }),
  ),
})

test('a follower has the whole of some state of the hub after each fault, never an older one, and then the newest', async () => {
  await fc.assert(
    fc.asyncProperty(HISTORY, async ({ steps, place, isOfPack, more }) => {
      await using history = await History.begin(place, isOfPack ? WEB : undefined)
      if (more > 0) await history.lengthen(more)
      for (const step of steps) await history.take(step)
      await history.publish()
      expect(await history.converge()).toBe(history.newest)
    }),
    { numRuns: lawRuns(1_000, 1 / 50), endOnFailure: !HAS_ALL_RUNS },
  )
})

type Step = typeof STEP extends fc.Arbitrary<infer Value> ? Value : never

type Fault = Step['fault']

/** A hub and a follower, and the states that the hub has had. */
class History implements AsyncDisposable {
  readonly #parts: AsyncDisposableStack
  readonly #hub: Hub
  readonly #follower: Follower
  readonly #to: string
  readonly #server: { meddle: Meddle }
  readonly #pack: Pack | undefined
  readonly #place: 'http' | 'folder'
  readonly #contents: Readonly<Record<string, number>>[] = []
  readonly #disabled = new Set<string>()
  /** The states that the hub has had, oldest first, before the first of which there is nothing. */
  readonly #states: string[] = [textOf({})]
  /** The first of the states that the follower can be at. */
  #reached = 0

  private constructor(
    parts: AsyncDisposableStack,
    { hub, follower, to, server }: { hub: Hub; follower: Follower; to: string; server: { meddle: Meddle } },
    { place, pack }: { place: 'http' | 'folder'; pack: Pack | undefined },
  ) {
    this.#parts = parts
    this.#hub = hub
    this.#follower = follower
    this.#to = to
    this.#server = server
    this.#place = place
    this.#pack = pack
  }

  static async begin(place: 'http' | 'folder', pack: Pack | undefined): Promise<History> {
    await using parts = new AsyncDisposableStack()
    const to = join(parts.use(await temporaryFolder()).path, 'channel')
    const hub = parts.use(await Hub.create({ pack }))
    const server = parts.use(await startFileServer(hub.read))
    const follower = parts.use(await Follower.open({ place: place === 'folder' ? to : server.url }))
    return new History(parts.move(), { hub, follower, to, server }, { place, pack })
  }

  /** Publishes a first state, and as many entries of it. */
  async lengthen(entries: number): Promise<void> {
    await this.#serve({ 'a/one': 0, 'b/two': 0 })
    await this.publish()
    await this.#hub.lengthen(entries)
    await this.publish()
  }

  async take({ change, hubKill, fault, followerReopens, hubReopens, isPulled }: Step): Promise<void> {
    if (hubReopens) await this.#hub.reopen()
    await this.#serve(this.#changed(change))
    if (hubKill === undefined) await this.publish()
    else await this.#hub.killedPublish(hubKill.kill, hubKill.torn, this.#to)
    await this.#pullWith(fault)
    await this.#expectSome()
    if (followerReopens) {
      await this.#follower.reopen()
      await this.#expectSome()
    }
    if (!isPulled) return
    if (hubKill !== undefined) await this.publish()
    expect(await this.converge()).toBe(this.newest)
  }

  /** The skills that the hub has now. */
  get newest(): string | undefined {
    return this.#states.at(-1)
  }

  async publish(): Promise<void> {
    await this.#hub.publish(this.#to)
  }

  /** Pulls once without a fault, and returns the skills of the follower. */
  async converge(): Promise<string> {
    const outcome = await this.#follower.pull()
    expect(outcome.kind).not.toBe('failed')
    this.#reached = this.#states.length - 1
    return textOf(await this.#follower.skills())
  }

  async #serve(served: Readonly<Record<string, number>>): Promise<void> {
    this.#contents.push(served)
    const content = contentOf(served)
    const disabled = [...this.#disabled]
    await this.#hub.serve(content, disabled)
    const skills = Object.entries(skillsOf(content, disabled))
    const seen = skills.filter(([path]) => this.#pack === undefined || OF_WEB.has(path))
    this.#states.push(textOf(Object.fromEntries(seen)))
  }

  #changed(change: Step['change']): Readonly<Record<string, number>> {
    const present = this.#contents.at(-1) ?? {}
    switch (change.kind) {
      case 'commit':
        return change.served
      case 'rollback':
        return this.#contents[change.to % Math.max(this.#contents.length, 1)] ?? {}
      case 'toggle':
        if (!this.#disabled.delete(change.skill)) this.#disabled.add(change.skill)
        return present
      case 'quiet':
        this.#hub.clock.setWall(new Date(this.#hub.clock.now().getTime() + HALF_DAY_MS))
        return present
      default:
        return change satisfies never
    }
  }

  async #pullWith(fault: Fault): Promise<void> {
    switch (fault.kind) {
      case 'none':
        return this.#pullUndisturbed()
      case 'kill':
        return this.#follower.killedPull(fault.kill)
      case 'cut':
        return this.#place === 'http' ? this.#pullCutOff(fault) : this.#pullTruncated(fault)
      default:
        return fault satisfies never
    }
  }

  /** A folder can be followed at any time, also after the hub was killed while it wrote it. */
  async #pullUndisturbed(): Promise<void> {
    const outcome = await this.#follower.pull()
    const isThere = (await filesBelow(this.#to)).includes(join(this.#to, 'checkpoint'))
    if (this.#place === 'folder' && isThere) expect(outcome).not.toMatchObject({ kind: 'failed' })
  }

  async #pullCutOff(fault: Fault & { readonly kind: 'cut' }): Promise<void> {
    this.#server.meddle = cuttingOff(this.#hub.read, fault)
    await this.#follower.pull()
    this.#server.meddle = () => false
  }

  async #pullTruncated({ answer, part }: Fault & { readonly kind: 'cut' }): Promise<void> {
    const files = await filesBelow(this.#to)
    const file = files[answer % files.length]
    if (file === undefined) return
    const bytes = await readFile(file)
    await truncate(file, Math.floor(part * bytes.length))
    await this.#follower.pull()
    await writeFile(file, bytes)
  }

  /** Expects a whole state that the hub has had, and none before one that the follower had. */
  async #expectSome(): Promise<void> {
    const found = textOf(await this.#follower.skills())
    const at = this.#states.indexOf(found, this.#reached)
    expect(at, `${found} is none of ${this.#states.slice(this.#reached).join('\n')}`).not.toBe(-1)
    this.#reached = at
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync()
  }
}

const HALF_DAY_MS = 12 * 3_600_000

function contentOf(served: Readonly<Record<string, number>>): Content {
  const content: Record<string, ReturnType<typeof skillNamed>[]> = { a: [], b: [] }
  for (const [path, text] of Object.entries(served)) {
    const [source = '', name = ''] = path.split('/')
    content[source]?.push(skillNamed(name, `${source} ${text}`, { 'notes.md': `${text}\n`.repeat(100) }))
  }
  return content
}

/** Ends the answer of this number at a part of its bytes, and each later one at once if this is the last. */
function cuttingOff(read: ReadFile, { answer, part, isLast }: Fault & { readonly kind: 'cut' }): Meddle {
  let count = 0
  return (_, response, path) => {
    const at = count
    count += 1
    if (at < answer || (at > answer && !isLast)) return false
    void read(path).then((bytes) => {
      if (bytes === undefined || at > answer) return response.destroy()
      response.writeHead(200, { 'content-length': bytes.length })
      return response.write(bytes.subarray(0, Math.floor(part * bytes.length)), () => response.destroy())
    })
    return true
  }
}

/** The files below a folder; none if it is not there yet. */
async function filesBelow(folder: string): Promise<readonly string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return found.flatMap((one) => (one.isFile() ? join(one.parentPath, one.name) : [])).toSorted()
}

/** Equal texts for equal skills: their digests, and the bytes of their files. */
function textOf(skills: Skills): string {
  return JSON.stringify(Object.entries(skills).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
