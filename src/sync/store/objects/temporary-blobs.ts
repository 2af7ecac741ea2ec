import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cannot } from '../files/disk-error.ts'
import type { Workspace } from './blob-store.ts'
import { openDatabase } from './database.ts'
import { LocalBlobs } from './local-blobs.ts'
import { ObjectRows } from './object-rows.ts'

/** Creates a workspace without a store, below the system's temporary folder. Disposal removes it. */
export async function temporaryWorkspace(): Promise<Workspace & AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const scratch = await mkdtemp(join(tmpdir(), 'skillsyncd-')).catch(cannot('make a scratch folder'))
  opening.defer(async () => rm(scratch, { recursive: true, force: true }).catch(cannot(`remove "${scratch}"`)))
  const path = join(scratch, 'blobs.db')
  const database = opening.use(openDatabase(path))
  const blobs = new LocalBlobs(path, { rows: new ObjectRows(database) })
  const opened = opening.move()
  return { scratch, blobs, [Symbol.asyncDispose]: async () => opened.disposeAsync() }
}
