import { hash } from 'node:crypto'
import { Errors, readBlob, readCommit, readObject, readTree, type FsClient } from 'isomorphic-git'
import { isObjectId, type ObjectId } from '../../model/revision.ts'
import type { TreeEntry } from '../../model/tree.ts'
import { treeOfCommit, type ObjectType } from '../../upstream/objects/git-object.ts'
import { parseTree } from '../../upstream/objects/tree-object.ts'
import type { ObjectSource } from '../objects/object-source.ts'
import { UnreadableError, type ComparedObjects } from './second-reader.ts'

/** The repository that isomorphic-git reads. */
interface IsomorphicRepository {
  readonly fs: FsClient
  readonly gitdir: string
  readonly cache: object
}

/** The objects as isomorphic-git reads them. None of our own git code takes part. */
export function comparedByIsomorphic(at: IsomorphicRepository): ComparedObjects {
  const had = async <Found>(oid: string, reading: Promise<Found>): Promise<Found | undefined> =>
    reading.catch(async (error: unknown) => {
      if (error instanceof Errors.NotFoundError) return undefined
      throw (await isWhole(at, oid)) ? new UnreadableError(`the second reader cannot read the object ${oid}`) : error
    })
  return {
    rootOf: async (oid) => (await had(oid, readCommit({ ...at, oid })))?.commit.tree,
    entriesOf: async (oid) => {
      const found = await had(oid, readTree({ ...at, oid }))
      return found?.tree.map(({ path, mode, oid: id }) => ({ name: path, mode, id }))
    },
    bytesOf: async (oid) => (await had(oid, readBlob({ ...at, oid })))?.blob,
  }
}

/** True if the object that could not be read has the bytes of its id: then its form is odd, and nothing is damaged. */
async function isWhole(at: IsomorphicRepository, oid: string): Promise<boolean> {
  const read = await readObject({ ...at, oid, format: 'content' }).catch(() => undefined)
  if (read?.format !== 'content') return false
  const header = Buffer.from(`${read.type} ${read.object.length}\0`)
  return hash('sha1', Buffer.concat([header, read.object])) === oid
}

/** The objects as our own reader has them. isomorphic-git takes no part. */
export function comparedByOwn(objects: ObjectSource, segmentBytes: number): ComparedObjects {
  const bytesOf = async (type: ObjectType, id: string): Promise<Buffer | undefined> => {
    const object = isObjectId(id) ? await objects.read(id) : undefined
    return object?.type === type ? object.bytes : undefined
  }
  return {
    rootOf: async (commit: ObjectId) => treeOfCommit((await bytesOf('commit', commit)) ?? NOTHING),
    entriesOf: async (tree) => {
      const bytes = await bytesOf('tree', tree)
      return (
        bytes && parseTree(bytes, 'sha1', segmentBytes).map(({ name, kind, id }) => ({ name, mode: MODES[kind], id }))
      )
    },
    bytesOf: async (blob) => bytesOf('blob', blob),
  }
}

const NOTHING = Buffer.alloc(0)

/** `unusable` entries are served by no reader. */
const MODES: Readonly<Record<TreeEntry['kind'], string>> = {
  file: '100644',
  executable: '100755',
  link: '120000',
  folder: '040000',
  submodule: '160000',
  'unusable-file': 'unusable',
  'unusable-folder': 'unusable',
  unread: 'unusable',
}
