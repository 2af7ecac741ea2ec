import { parseJson } from '../../base/json-value.ts'
import { hasLeaving, RECORD, statesBefore, textOfRecord } from '../model/changes/generation-record.ts'
import type { GenerationRecord, RecordedMove, RecordedRevision } from '../model/changes/generation-record.ts'
import { changesBetween, docsBetween, skillStatesOf } from '../model/changes/skill-changes.ts'
import type { SkillStates } from '../model/changes/skill-changes.ts'
import type { Generation } from '../model/generation.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import { MOST_TEXT_BYTES } from './objects/object-store.ts'
import type { HeadRecord, ObjectStore } from './objects/object-store.ts'
import type { SnapshotStore } from './snapshot-store.ts'

/** The snapshots that a publisher has in memory, by digest. */
export type KnownSnapshots = ReadonlyMap<string, Snapshot>

/** The light records of the generations of 90 days, in which names, digests and commits outlive the contents. */
export class GenerationRecords {
  readonly #objects: ObjectStore
  readonly #snapshots: SnapshotStore

  constructor(objects: ObjectStore, snapshots: SnapshotStore) {
    this.#objects = objects
    this.#snapshots = snapshots
  }

  /** The latest, at most so many, newest first. */
  async numbers(most?: number): Promise<readonly number[]> {
    return this.#objects.recordSequences(most === undefined ? {} : { most })
  }

  /** `undefined` if there is none, or it has not the form of a record. */
  async read(number: number): Promise<GenerationRecord | undefined> {
    for await (const stored of this.#objects.records([number])) return recordIn(stored)
    return undefined
  }

  /** The records in which a skill left and whose text has this name in it, newest first. */
  async *leaving(name = ''): AsyncGenerator<GenerationRecord> {
    const part = JSON.stringify(name).slice(1, -1)
    for await (const stored of this.#objects.records(await this.#objects.recordSequences({ leaving: part }))) {
      const record = recordIn(stored)
      if (record !== undefined) yield record
    }
  }

  /** Makes the record of the next generation. `before`: 0 for none, `undefined` if it cannot be read. */
  async of(before: Generation | 0 | undefined, next: Generation, known: KnownSnapshots): Promise<HeadRecord> {
    const { number, createdAt, cause } = next
    const moves = before === undefined ? undefined : await this.#moves(before === 0 ? [] : before.sources, next, known)
    const last = before === 0 ? 0 : (before?.number ?? number - 1)
    const record = { number, createdAt, before: last, ...(cause && { cause }), ...(moves && { moves }) }
    const text = textOfRecord(record, MOST_TEXT_BYTES)
    const total = (await this.#totalAt(last)) + Buffer.byteLength(text)
    return { sequence: number, at: Date.parse(createdAt), total, hasLeaving: hasLeaving(record), text }
  }

  async #totalAt(sequence: number): Promise<number> {
    for await (const { total } of this.#objects.records([sequence])) return total < MOST_TOTAL ? total : 0
    return 0
  }

  /** `undefined` if a snapshot that is needed cannot be read. What is the same in both costs nothing. */
  async #moves(
    before: Generation['sources'],
    after: Generation,
    known: KnownSnapshots,
  ): Promise<readonly RecordedMove[] | undefined> {
    const snapshotOf = async (digest: string | undefined): Promise<Snapshot | undefined> =>
      digest === undefined ? undefined : (known.get(digest) ?? (await this.#snapshots.readWhole(digest)))
    const sides = new Map<SourceId, { from?: string; to?: string }>()
    for (const { source, snapshot } of after.sources) sides.set(source, { to: snapshot })
    for (const { source, snapshot } of before) sides.set(source, { ...sides.get(source), from: snapshot })
    const moves: RecordedMove[] = []
    for (const [source, { from, to }] of sides) {
      if (from === to) continue
      const [was, is] = [await snapshotOf(from), await snapshotOf(to)]
      if ((from !== undefined && was === undefined) || (to !== undefined && is === undefined)) return undefined
      moves.push(moveOf(source, was, is))
    }
    return moves
  }

  /** The sources as they were in a generation whose contents are gone; `undefined` if the records do not reach it. */
  async sourcesAt(number: number, later: Generation): Promise<ReadonlyMap<SourceId, RecordedSource> | undefined> {
    const sources = new Map<SourceId, RecordedSource>()
    for (const { source, snapshot } of later.sources) {
      const { revision, skills, docs } = await this.#snapshots.read(snapshot)
      sources.set(source, { revision, skills: skillStatesOf({ skills }), docs: docs?.digest })
    }
    let at = later.number
    while (at > number) {
      const record = await this.read(at)
      if (record?.moves === undefined) return undefined
      for (const move of record.moves) {
        if (move.leftOut !== undefined) return undefined
        const { source, from, skills, docs } = move
        const after = sources.get(source)
        if (from === undefined) sources.delete(source)
        else
          sources.set(source, {
            revision: from,
            skills: statesBefore(after?.skills ?? new Map(), skills),
            docs: docs === undefined ? after?.docs : docs.from,
          })
      }
      at = record.before
    }
    return at === number ? sources : undefined
  }
}

/** A source in a generation of the record. */
export interface RecordedSource {
  readonly revision: RecordedRevision
  readonly skills: SkillStates
  /** The digest of its docs. */
  readonly docs: string | undefined
}

const MOST_TOTAL = 2 ** 52

function moveOf(source: SourceId, was: Snapshot | undefined, is: Snapshot | undefined): RecordedMove {
  const docs = docsBetween(was?.docs?.digest, is?.docs?.digest)
  return {
    source,
    ...(was && { from: revisionOf(was) }),
    ...(is && { to: revisionOf(is) }),
    skills: changesBetween(was, is ?? { skills: [] }),
    ...(docs && { docs }),
  }
}

function revisionOf({ revision: { ref, commit, tag } }: Snapshot): RecordedRevision {
  return { ref, commit, ...(tag !== undefined && { tag }) }
}

function recordIn({ sequence, text }: HeadRecord): GenerationRecord | undefined {
  const { data } = RECORD.safeParse(parseJson(text))
  return data?.number === sequence ? data : undefined
}
