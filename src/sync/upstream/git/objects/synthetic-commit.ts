import type { ObjectId } from '../../../model/revision.ts'
import { idOf } from './git-object.ts'

/** A commit object for what nobody committed, and its id. */
export interface PlainCommit {
  readonly bytes: Buffer
  readonly id: ObjectId
}

/** Without an author and a time: whose it is and when it was made would make two of the same content. */
export function plainCommit(tree: ObjectId, message: string): PlainCommit {
  const nobody = 'skillsyncd <> 0 +0000'
  const bytes = Buffer.from(`tree ${tree}\nauthor ${nobody}\ncommitter ${nobody}\n\n${message}\n`)
  return { bytes, id: idOf({ type: 'commit', bytes }, 'sha256') }
}
