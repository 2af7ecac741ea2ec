import fs from 'node:fs'
import type { PromiseFsClient } from 'isomorphic-git'
import { SyncError } from '../../model/sync-error.ts'
import { ISOMORPHIC_BYTES } from './commit-fetch.ts'
import { inflatedWithin, weighPack } from './pack-weight.ts'

/**
 * Wraps the file system so that packed data is checked before isomorphic-git unpacks it, because isomorphic-git has no
 * limits. `scratch` is a folder for packs while they are checked, `objects` the maximum number of objects of one.
 * `place`: where the repository is that isomorphic-git reads; in scratch, it has written every pack itself.
 */
export function limitedFs(
  { scratch, objects }: { readonly scratch: string; readonly objects: number },
  place: 'remote' | 'disk',
): PromiseFsClient {
  const { promises } = fs
  return {
    promises: {
      ...promises,
      async writeFile(path: string, bytes: Uint8Array, options?: fs.WriteFileOptions) {
        if (path.endsWith('.pack')) await weighPack(bytes, scratch, objects)
        await promises.writeFile(path, bytes, options)
      },
      async readFile(path: string, options?: { readonly encoding?: BufferEncoding }) {
        if (place === 'disk') await expectSmall(path)
        const bytes = await promises.readFile(path, options ?? {})
        if (typeof bytes === 'string') return bytes
        if (path.endsWith('.pack') && place === 'disk') await weighPack(bytes, scratch, objects)
        if (LOOSE.test(path)) inflatedWithin(bytes)
        return bytes
      },
    },
  }
}

const LOOSE = /[/\\][0-9a-f]{2}[/\\][0-9a-f]{38}$/

/** isomorphic-git reads the whole of a file for any object in it. */
async function expectSmall(path: string): Promise<void> {
  const { size } = await fs.promises.stat(path)
  if (size <= ISOMORPHIC_BYTES) return
  const what = path.endsWith('.pack') ? 'a pack' : 'a file'
  const message = `${what} of the repository has ${size} bytes, and isomorphic-git is given none over ${ISOMORPHIC_BYTES}`
  throw new SyncError('limit-exceeded', message)
}
