import { lstat, open } from 'node:fs/promises'
import type { DigestedFile } from '../../model/digest.ts'
import { cannot, unlessAbsent } from '../files/disk-error.ts'
import { problemOf as contentProblemOf } from '../files/verified-file.ts'

/** Writes a new file that its owner cannot write to by accident, regardless of the umask. */
export async function writeReadOnly(path: string, bytes: Uint8Array, file: DigestedFile): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(bytes)
    await handle.chmod(modeOf(file))
  } finally {
    await handle.close()
  }
}

/** Returns why the file is not as it was checked out; `undefined` if it is. */
export async function checkoutProblemOf(path: string, file: DigestedFile): Promise<string | undefined> {
  return (await contentProblemOf(path, file)) ?? modeProblem(path, file)
}

async function modeProblem(path: string, file: DigestedFile): Promise<string | undefined> {
  const found = await unlessAbsent(lstat(path)).catch(cannot(`read the attributes of "${path}"`))
  const mode = (found?.mode ?? 0) & 0o777
  return mode === modeOf(file) ? undefined : `its mode is ${mode.toString(8)}, not ${modeOf(file).toString(8)}`
}

function modeOf({ executable }: DigestedFile): number {
  return executable ? 0o555 : 0o444
}
