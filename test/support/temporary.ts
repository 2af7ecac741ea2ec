import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A fresh folder under the system's temporary one, gone with everything in it when disposed. */
export async function temporaryFolder(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'skillsyncd-'))
  return { path, [Symbol.asyncDispose]: () => removeFolder(path) }
}

/** Removes a folder, read-only folders in it included; one that is gone already is fine. */
async function removeFolder(path: string): Promise<void> {
  const removed = await rm(path, { recursive: true, force: true }).then(
    () => true,
    () => false,
  )
  if (removed) return
  await unlock(path)
  await rm(path, { recursive: true, force: true, maxRetries: 3 })
}

async function unlock(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await unlock(join(folder, entry.name))
  }
}
