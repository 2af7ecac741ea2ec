import type { ObjectFormat, ObjectId } from '../../model/revision.ts'
import { objectIdOf } from './git-object.ts'

/** A synthetic commit object for content without a real commit, and its id. */
export interface PlainCommit {
  readonly bytes: Buffer
  readonly id: ObjectId
}

/** Creates the commit of a history: with the time at which it is made, and the commit that it follows, if any. */
export function historyCommit(
  tree: ObjectId,
  parent: ObjectId | undefined,
  { message, at }: { readonly message: string; readonly at: Date },
): PlainCommit {
  const author = `skillsyncd <skillsyncd@localhost> ${Math.floor(at.getTime() / 1000)} +0000`
  const parents = parent === undefined ? '' : `parent ${parent}\n`
  const bytes = Buffer.from(`tree ${tree}\n${parents}author ${author}\ncommitter ${author}\n\n${message}\n`)
  return { bytes, id: objectIdOf({ type: 'commit', bytes }, 'sha1') }
}

/** Creates the commit without author and time, so that the same content always gives the same id. */
export function plainCommit(tree: ObjectId, message: string, format: ObjectFormat = 'sha256'): PlainCommit {
  const nobody = 'skillsyncd <> 0 +0000'
  const bytes = Buffer.from(`tree ${tree}\nauthor ${nobody}\ncommitter ${nobody}\n\n${message}\n`)
  return { bytes, id: objectIdOf({ type: 'commit', bytes }, format) }
}
