import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ProgramFailedError, runProgram } from '../../../src/daemon/runtime/run-program.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const BOUNDS = { timeoutMs: 20_000, outputBytes: 1_000, signal: new AbortController().signal }
const PATH = process.env['PATH'] ?? ''

function shell(script: string, env: Readonly<Record<string, string>> = {}) {
  return { command: 'sh', args: ['-c', script], env: { PATH, ...env }, input: 'said\n' }
}

test('a program reads its input, and has the environment that it is given and no other', async () => {
  const { status, stdout } = await runProgram(shell('cat; /usr/bin/env; exit 3', { OWN: 'yes' }), BOUNDS)

  const lines = Buffer.from(stdout).toString().split('\n')
  expect(status).toBe(3)
  expect(lines[0]).toBe('said')
  expect(lines.filter((line) => !/^(?:PWD|SHLVL|_|OLDPWD)=/.test(line)).toSorted()).toEqual(
    ['', 'OWN=yes', `PATH=${PATH}`, 'said'].toSorted(),
  )
})

test.each([
  ['cannot be started', { ...shell(''), command: 'no-such-program-anywhere' }, {}],
  ['is not done after 200 ms', shell('sleep 1000'), { timeoutMs: 200 }],
  ['prints more than 1000 bytes', shell('exec yes'), {}],
])('a program that %s fails', async (why, call, bounds) => {
  const failure = await runProgram(call, { ...BOUNDS, ...bounds }).catch((error: unknown) => error)

  expect(failure).toBeInstanceOf(ProgramFailedError)
  expect(String(failure)).toContain(why)
})

test('one that does not read its input is no failure', async () => {
  const call = { ...shell('exec <&-; exit 0'), input: 'x'.repeat(1_000_000) }

  expect(await runProgram(call, BOUNDS)).toMatchObject({ status: 0 })
})

test('one that is no longer wanted is ended, and so are those that it started', async () => {
  await using folder = await temporaryFolder()
  const abort = new AbortController()
  const script = `sleep 1000 & echo $! $$ > ${join(folder.path, 'made')}; mv made pids; wait`
  const call = { ...shell(`cd ${folder.path}; ${script}`) }

  const running = runProgram(call, { ...BOUNDS, signal: abort.signal }).catch((error: unknown) => error)
  const pids = await textWhenThere(join(folder.path, 'pids'))
  abort.abort(new Error('enough'))

  expect(await running).toMatchObject({ message: 'enough' })
  for (const pid of pids.split(/\s+/).filter(Boolean)) expect(await stateOf(Number(pid))).toBe('gone')
})

test('what a program leaves behind is ended with it, though it holds the output open', async () => {
  const { stdout } = await runProgram(shell('sleep 1000 & echo $!'), BOUNDS)

  expect(await stateOf(Number(Buffer.from(stdout).toString()))).toBe('gone')
})

async function textWhenThere(file: string): Promise<string> {
  for (;;) {
    const text = await readFile(file, 'utf8').catch(() => undefined)
    if (text !== undefined) return text
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** A process that was ended is there until its parent, or the init of this machine, has looked. */
async function stateOf(pid: number): Promise<'gone' | 'there'> {
  for (let look = 0; look < 20_000; look += 1) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
    if (stat === undefined || /\) [ZX] /.test(stat)) return 'gone'
    await new Promise((resolve) => setImmediate(resolve))
  }
  return 'there'
}
