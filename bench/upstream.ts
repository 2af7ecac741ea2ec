import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Repository } from '../test/support/repository.ts'
import { makeSkills } from './skills.ts'
import type { Skills } from './skills.ts'

/** A repository of skills, and a git server in a process of its own that serves it. */
export interface ServedSkills extends AsyncDisposable {
  readonly repository: Repository
  readonly skills: Skills
  readonly url: string
}

export async function serveSkills(count: number): Promise<ServedSkills> {
  const repository = await Repository.create()
  const skills = makeSkills(count)
  await repository.commit(skills.files)
  // As a host keeps it: one pack, well packed.
  await repository.git('repack', '-a', '-d', '-q')
  const child = fork(fileURLToPath(new URL('./server-process.ts', import.meta.url)), [repository.folder])
  const [url] = await once(child, 'message')
  return {
    repository,
    skills,
    url: String(url),
    [Symbol.asyncDispose]: async () => {
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
      await repository[Symbol.asyncDispose]()
    },
  }
}
