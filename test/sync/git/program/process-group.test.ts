import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { runToEnd } from '../../../../src/sync/git/program/process-group.ts'
import type { Start } from '../../../../src/sync/git/program/process-group.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { STEADY } from '../../upstream/reached.ts'

test('where no program starts, an abort that comes later rejects nothing that is left alone', async () => {
  const stop = new AbortController()
  const unheard: unknown[] = []
  const hear = (reason: unknown): void => void unheard.push(reason)
  process.on('unhandledRejection', hear)
  const start = { command: 'no-such-program', args: [], cwd: tmpdir(), env: { PATH: '/nowhere' }, fileBytes: undefined }
  const bounds = { firstMs: 1_000, idleMs: 1_000, outputBytes: 1_000 }

  const refused = await runToEnd(start, { what: 'asked', input: '', bounds }, stop.signal).catch(
    (error: unknown) => error,
  )
  stop.abort()
  await turn()
  process.off('unhandledRejection', hear)

  expect(refused).toMatchObject({ code: 'source-unreachable' })
  expect(unheard).toEqual([])
})

describe.skipIf(process.platform !== 'linux')('a process that leaves the group of its program', () => {
  test('is killed when the program ends, and holds up no answer', async () => {
    await using folder = await temporaryFolder()
    const pid = join(folder.path, 'pid')
    // It keeps the pipe of the answer open, as a process that was left by mistake does.
    const leaves = `setsid sh -c 'echo $$ > ${pid}.new; mv ${pid}.new ${pid}; exec sleep 1000' & `
    const waits = `while ! test -e ${pid}; do sleep 0.01; done; echo answer`

    const ended = await runToEnd(
      shell(leaves + waits, folder.path),
      { what: 'asked', input: '', bounds: BOUNDS },
      STEADY,
    )

    expect(ended).toMatchObject({ status: 0, stdout: Buffer.from('answer\n') })
    await expectGone(Number(await readFile(pid, 'utf8')))
  })

  test('is killed when the program is stopped', async () => {
    await using folder = await temporaryFolder()
    const stop = new AbortController()
    const pid = join(folder.path, 'pid')
    const leaves = `setsid sh -c 'echo $$ > ${pid}.new; mv ${pid}.new ${pid}; exec sleep 1000' >/dev/null 2>&1 & `
    const run = runToEnd(
      shell(`${leaves} exec sleep 1000`, folder.path),
      { what: 'asked', input: '', bounds: BOUNDS },
      stop.signal,
    )
    const stopped = run.catch((error: unknown) => error)
    await expect.poll(async () => readFile(pid, 'utf8').catch(() => ''), { timeout: 30_000 }).not.toBe('')

    stop.abort(new Error('stopped'))

    expect(await stopped).toMatchObject({ message: 'stopped' })
    await expectGone(Number(await readFile(pid, 'utf8')))
  })

  test('is left alone where the operator chose the program', async () => {
    await using folder = await temporaryFolder()
    const pid = join(folder.path, 'pid')
    const leaves = `setsid sh -c 'echo $$ > ${pid}.new; mv ${pid}.new ${pid}; exec sleep 1000' >/dev/null 2>&1 & `
    const waits = `while ! test -e ${pid}; do sleep 0.01; done`
    const start = { ...shell(leaves + waits, folder.path), fileBytes: undefined }

    await runToEnd(start, { what: 'asked', input: '', bounds: BOUNDS }, STEADY)

    const left = Number(await readFile(pid, 'utf8'))
    expect(await isThere(left)).toBe(true)
    process.kill(left, 'SIGKILL')
  })
})

const BOUNDS = { firstMs: 60_000, idleMs: 60_000, outputBytes: 1_000 }

function shell(script: string, cwd: string): Start {
  return { command: '/bin/sh', args: ['-c', script], cwd, env: { PATH: process.env['PATH'] ?? '' }, fileBytes: 2 ** 20 }
}

async function expectGone(pid: number): Promise<void> {
  await expect.poll(() => isThere(pid), { timeout: 30_000 }).toBe(false)
}

/** A process that was killed and that its parent has not waited for has no command line. */
async function isThere(pid: number): Promise<boolean> {
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) !== ''
}
