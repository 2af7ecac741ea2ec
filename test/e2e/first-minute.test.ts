import { execFile } from 'node:child_process'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { SkillRepository } from '../../examples/first-minute/repository.ts'
import { temporaryFolder } from '../support/temporary.ts'

const run = promisify(execFile)
const SKILLS = fileURLToPath(new URL('../../examples/skills', import.meta.url))

test('the commit that the first minute asks for works where git has no author', async () => {
  await using folder = await temporaryFolder()
  const dir = join(folder.path, 'skills')
  const repository = await SkillRepository.create(dir, SKILLS)
  await repository.commit('.', 'First')
  await appendFile(join(dir, 'git-bisect', 'SKILL.md'), 'One more line, by hand.\n')
  // Git guesses an author from the names of user and machine otherwise, and on some machines it can.
  const env = { PATH: process.env['PATH'], HOME: folder.path, GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' }

  await run('git', ['-c', 'user.useConfigOnly=true', 'commit', '-am', 'Say still more'], { cwd: dir, env })
  const { stdout } = await run('git', ['log', '--format=%an %s'], { cwd: dir, env })

  expect(stdout).toBe('First Minute Say still more\nFirst Minute First\n')
})
