import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Files } from './scripted-upstream.ts'

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
