import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { SkillRepository } from '../../examples/first-minute/repository.ts'
import { temporaryFolder } from '../support/temporary.ts'

const run = promisify(execFile)
const PROGRAM = fileURLToPath(new URL('../../examples/first-minute.ts', import.meta.url))
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

test('the first minute opens with its addresses, fits 80 columns, and shows a commit that is made as it says', async () => {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const lines: string[] = []
  const printed = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const until = async (found: (line: string) => boolean): Promise<string> => {
    for (;;) {
      const { value, done } = await printed.next()
      if (done === true) throw new Error(`It ended after:\n${lines.join('\n')}`)
      lines.push(value)
      if (found(value)) return value
    }
  }
  try {
    await until((line) => line.includes('git commit'))
    const opening = lines.filter((line) => line !== '')

    expect(opening[1]).toMatch(/^ {2}Page {2}http:\/\/127\.0\.0\.1:\d+\/$/)
    expect(opening[2]).toMatch(/^ {2}MCP {3}http:\/\/127\.0\.0\.1:\d+\/mcp$/)
    expect(opening.filter((line) => line.length > 80)).toEqual([])
    expect(opening.slice(3).findIndex((line) => line.startsWith('It runs until Ctrl-C'))).toBeLessThanOrEqual(10)
    const commands = lines.slice(-3).map((line) => line.trim())
    await run('sh', ['-c', commands.join(' && ')])
    expect(await until((line) => line.includes('notified'))).toContain('skill://examples/git-bisect/SKILL.md')
  } finally {
    child.kill('SIGINT')
    await ended
  }
})
