import { execFileSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Home } from '../../../support/process/program.ts'

test('a disk that hangs is told after ten seconds, and keeps no process', async () => {
  await using home = await Home.create()
  await home.configure({ a: ['url: https://git.example.com/a.git'] })
  await mkdir(home.state, { recursive: true, mode: 0o700 })
  // Whoever opens it waits for a writer that does not come, in a thread of the system.
  execFileSync('mkfifo', [join(home.state, 'format')])

  const end = await home.run('doctor', '--offline')

  // Without execve, in a Node before 22.15, there is no other end than by a signal.
  const [status, signal] = process.execve === undefined ? [null, 'SIGKILL'] : [3, null]
  expect(end).toMatchObject({ status, signal, stderr: '' })
  expect(end.stdout).toContain(`fail  state-folder ${home.state}: no answer within 10 s\n`)
  expect(end.stdout).toMatch(/checks: \d faults?, .*; no host was queried\n$/)
})
