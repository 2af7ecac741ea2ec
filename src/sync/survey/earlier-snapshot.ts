import type { Docs } from '../model/docs-folder.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'

/** An earlier snapshot of the source, with a reader for its files. */
export interface Earlier {
  readonly snapshot: Snapshot
  read(stored: Skill | Docs, path: string): Promise<Uint8Array>
}
