import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Outcome } from '../../../src/sync/model/outcome.ts'
import { type ServedSource } from '../../../src/sync/model/snapshot.ts'
import type { GitSource } from '../../../src/sync/model/source.ts'
import { type PullOrders, type PullContext } from '../../../src/sync/pull/pull-context.ts'
import { pullSource } from '../../../src/sync/pull/pull.ts'
import { RETENTION } from '../../../src/sync/store/garbage-collect.ts'
import { storedSkill } from '../../../src/sync/store/skills/stored-path.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { damageObject } from '../../support/damage.ts'
import { ScriptedUpstream, skillText, type Files } from '../../support/git/scripted-upstream.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { never, sourceId } from '../store/samples.ts'
import { rulesWith, skillAt, type Edited } from '../survey/surveyed.ts'

/** What the upstream of a scene has at first. */
export const PDF: Files = { 'pdf/SKILL.md': skillText('pdf'), 'pdf/ref.md': 'ref', 'pdf/run.sh': { executable: 'run' } }

/** A source, what it has and a store on the disk: pulls go one after another, each publishing what it brought. */
export class Scene implements AsyncDisposable {
  readonly upstream: ScriptedUpstream
  readonly store: Store
  readonly resolved: string[] = []
  current: ServedSource | undefined
  readonly #folder: AsyncDisposable

  private constructor(upstream: ScriptedUpstream, store: Store, folder: AsyncDisposable) {
    this.upstream = upstream
    this.store = store
    this.#folder = folder
  }

  static async open(upstream = new ScriptedUpstream(PDF)): Promise<Scene> {
    const folder = await temporaryFolder()
    return new Scene(upstream, await Store.open(join(folder.path, 'state')), folder)
  }

  /** What decides, besides the ref. */
  orders: PullOrders = { decision: {}, offline: false }

  async pull(
    edit: Edited & Partial<GitSource> = {},
    io: Partial<PullContext> = {},
    signal = never(),
  ): Promise<Outcome> {
    const { limits, ...source } = edit
    const outcome = await pullSource({
      source: sourceWith(source),
      current: this.current,
      orders: this.orders,
      io: {
        store: this.store,
        open: (_, { blobs }) => this.upstream.open({ blobs }),
        limits: {
          ...rulesWith({ limits: limits ?? {} }).limits,
          disk: { bytes: 2 ** 33 },
        },
        onResolved: ({ commit }) => void this.resolved.push(commit),
        ...io,
      },
      signal,
    })
    // Through the disk: what the next pull is given was JSON in between.
    if (outcome.kind === 'updated') {
      this.current = { held: outcome.held, snapshot: await this.store.snapshots.read(outcome.held.snapshot) }
    }
    return outcome
  }

  /** Throws unless the pull brought something. */
  async updated(...args: Parameters<Scene['pull']>): Promise<Extract<Outcome, { kind: 'updated' }>> {
    const outcome = await this.pull(...args)
    if (outcome.kind === 'failed') throw outcome.error
    if (outcome.kind !== 'updated') throw new Error(`The pull ended ${outcome.kind}`)
    return outcome
  }

  /** Every file of the state folder, with its bytes and the time it was written, and every folder with that of its names. */
  async state(): Promise<Record<string, string | number>> {
    const entries = await readdir(this.store.folder.path, { recursive: true, withFileTypes: true })
    const files = entries.map(async (entry) => {
      const path = join(entry.parentPath, entry.name)
      const { mtimeMs } = await stat(path)
      return [path, entry.isDirectory() ? mtimeMs : `${mtimeMs} ${(await readFile(path)).toString('base64')}`] as const
    })
    return Object.fromEntries(await Promise.all(files))
  }

  /** The digests of the files that the store has, in use or not; neither snapshots nor generations. */
  files(): string[] {
    using database = new DatabaseSync(this.store.folder.database, { readOnly: true })
    const files = database.prepare(
      'SELECT lower(hex(digest)) AS file FROM object WHERE label IS NULL AND digest NOT IN (SELECT generation FROM head)',
    )
    return files
      .all()
      .map(({ file }) => String(file))
      .toSorted()
  }

  /** Publishes what is current, if anything, and removes what is not in use. */
  async collect(): Promise<void> {
    if (this.current !== undefined) await this.store.generations.publish([this.current.held], new Date())
    await this.store.collect({ now: new Date(), retention: RETENTION, keep: new Set() }, never())
  }

  /** The text that the store has for a file of a skill. */
  async textOf(skill: string, path: string): Promise<string> {
    const found = skillAt(this.current!.snapshot, skill)
    return (
      await this.store.skills.read(
        storedSkill(found),
        found.files.find((file) => file.path === path)!,
      )
    ).toString()
  }

  /** Damages a stored file, as a failing disk may. */
  async damage(skill: string, path: string): Promise<void> {
    const { files } = skillAt(this.current!.snapshot, skill)
    damageObject(this.store, files.find((file) => file.path === path)!.sha256)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.store[Symbol.dispose]()
    await this.#folder[Symbol.asyncDispose]()
  }
}

/** Nothing waits for a person. */
export const FOLLOW = 'follow' as const

/** A git source with all that a configuration that sets nothing would have, but for what is edited. */
export function sourceWith(edit: Partial<GitSource>): GitSource {
  const place = {
    kind: 'git',
    backend: 'auto',
    id: sourceId('team'),
    url: 'https://git.example.com/skills.git',
    ref: 'main',
  } as const
  const schedule = { kind: 'every', periodMs: 1000 } as const
  const following = {
    schedule,
    update: 'auto',
    brakes: 'hold',
  } as const
  return { ...place, ...following, ...rulesWith().selection, ...edit }
}
