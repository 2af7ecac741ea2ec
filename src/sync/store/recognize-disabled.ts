import { isByPath } from '../model/decisions/disabled-skills.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import type { Store } from './store.ts'

/** Fills in the details of skills that are disabled by path alone, from the newest stored snapshot that has them. */
export async function recognise(store: Store): Promise<void> {
  for (const [source, entries] of store.decisions.disabled) {
    for (const [path, entry] of entries) {
      if (!isByPath(entry)) continue
      const snapshot = await newestWith(store, source, path)
      await store.decisions.recognise(source, path, snapshot === undefined ? [] : [snapshot])
    }
  }
}

async function newestWith(store: Store, source: SourceId, path: string): Promise<Snapshot | undefined> {
  for (const number of await store.generations.numbers()) {
    const generation = await store.generations.read(number)
    const held = generation?.sources.find((candidate) => candidate.source === source)
    const snapshot = held && (await store.snapshots.readWhole(held.snapshot))
    if (snapshot?.skills.some((skill) => skill.path === path) === true) return snapshot
  }
  return undefined
}
