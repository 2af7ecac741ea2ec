import { chmod, mkdir, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Files } from '../git/scripted-upstream.ts'

/** Makes a folder hold these files and nothing else. Submodules are left out: no plain folder has one. */
export async function fillFolder(folder: string, files: Files): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  for (const [path, content] of Object.entries(files)) {
    const at = join(folder, path)
    if (typeof content === 'object' && 'submodule' in content) continue
    await mkdir(dirname(at), { recursive: true })
    if (typeof content === 'string' || content instanceof Uint8Array) await writeFile(at, content)
    else if ('link' in content) await symlink(Buffer.from(content.link), at)
    else {
      await writeFile(at, content.executable)
      await chmod(at, 0o755)
    }
  }
}

/** Every file in a folder and below, by its own name. */
export async function filesBelow(folder: string): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Promise.all(
    files.map(async ({ parentPath, name }) => ({ name, text: await readFile(join(parentPath, name), 'latin1') })),
  )
}

/**
 * Does something while a place of the disk may not be read, also where the tests run as root: as somebody else then. What
 * is above the place, up to the folder of the temporary files, may be looked into meanwhile.
 */
export async function asNobody<Result>(place: string, act: () => Promise<Result>): Promise<Result> {
  const { seteuid } = process
  const { mode } = await stat(place)
  const isRoot = process.geteuid?.() === 0
  if (isRoot) await openUp(place)
  await chmod(place, 0)
  if (isRoot) seteuid?.(NOBODY)
  try {
    return await act()
  } finally {
    if (isRoot) seteuid?.(0)
    await chmod(place, mode & 0o777)
  }
}

const NOBODY = 65_534

async function openUp(place: string): Promise<void> {
  for (let above = dirname(place); above !== tmpdir() && above !== '/'; above = dirname(above)) {
    await chmod(above, 0o777)
    for (const beside of await readdir(above, { withFileTypes: true }))
      if (beside.isDirectory()) await chmod(join(above, beside.name), 0o777)
  }
}
