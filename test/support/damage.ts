import { DatabaseSync } from 'node:sqlite'
import type { Store } from '../../src/sync/store/store.ts'

/** Overwrites the bytes of an object, as a failing disk may. What is kept of it in memory is not touched. */
export function damageObject(store: Store, digest: string): void {
  onDatabase(store, (database) => {
    database.prepare('DELETE FROM piece WHERE object = (SELECT id FROM object WHERE digest = ?)').run(keyOf(digest))
    const { changes } = database.prepare('UPDATE object SET bytes = ? WHERE digest = ?').run(DAMAGED, keyOf(digest))
    if (changes !== 1) throw new Error(`There is no object "${digest}"`)
  })
}

/** Removes an object that may be in use, as a disk that was restored in part may lack it. */
export function loseObject(store: Store, digest: string): void {
  onDatabase(store, (database) => {
    const { changes } = database.prepare('DELETE FROM object WHERE digest = ?').run(keyOf(digest))
    if (changes !== 1) throw new Error(`There is no object "${digest}"`)
  })
}

/** On a connection of its own, as another process. */
function onDatabase(store: Store, change: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(store.folder.database)
  try {
    change(database)
  } finally {
    database.close()
  }
}

const DAMAGED = Buffer.from('damaged')

function keyOf(digest: string): Uint8Array {
  return Buffer.from(digest, 'hex')
}
