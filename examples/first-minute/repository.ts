import fs from 'node:fs'
import { appendFile, cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { add, commit, init, setConfig } from 'isomorphic-git'

const AUTHOR = { name: 'First Minute', email: 'first-minute@example.com' }

/** A git repository with a work tree and an author of its own, made without the git program and without the machine's git configuration. */
export class SkillRepository {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  /** Makes a repository from a copy of the skills in `from`. Executable files stay executable. */
  static async create(folder: string, from: string): Promise<SkillRepository> {
    await cp(from, folder, { recursive: true })
    await init({ fs, dir: folder, defaultBranch: 'main' })
    // A person whose git has no author yet is told to commit by hand, too.
    for (const key of ['name', 'email'] as const)
      await setConfig({ fs, dir: folder, path: `user.${key}`, value: AUTHOR[key] })
    return new SkillRepository(folder)
  }

  /** Commits what lies at the path, a file or a folder. Returns the commit id. */
  async commit(path: string | readonly string[], message: string): Promise<string> {
    await add({ fs, dir: this.folder, filepath: [path].flat() })
    return commit({ fs, dir: this.folder, message, author: AUTHOR })
  }

  async append(path: string, text: string): Promise<void> {
    await appendFile(join(this.folder, path), text)
  }

  async read(path: string): Promise<Buffer> {
    return readFile(join(this.folder, path))
  }
}
