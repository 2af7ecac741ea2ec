import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { TinyDisk } from '../support/process/tiny-disk.ts'
import { Scene } from './scene.ts'
import { listingAt } from './witness.ts'

const run = promisify(execFile)

const OBSTACLE = await TinyDisk.obstacle()

describe.skipIf(OBSTACLE !== undefined)(`as root${OBSTACLE === undefined ? '' : `, but ${OBSTACLE}`}`, () => {
  test('a disk that turns read-only in the middle of a fetch fails that pull, and the daemon serves on and recovers', async () => {
    await using scene = await Scene.set()
    const disk = await TinyDisk.at(scene.home, dirname(scene.home.state))
    await scene.play()
    const before = scene.git.requests.length
    scene.git.fault = { kind: 'hang', at: 100, on: 'fetch' }
    await scene.commit()
    await scene.git.requested(({ body }) => body.includes('command=fetch'), before)

    await disk.closeToWriting()
    const said = scene.fromNow()
    await scene.git.goAway()

    const failed = await said((line) => line.includes('"pull-failed","source"'))
    expect(failed).toContain('EROFS')
    await scene.witness.looksAgain()
    scene.git.fault = { kind: 'none' }
    await scene.git.comeBack()
    await disk.openToWriting()
    await scene.recovers()
    await scene.expectWell()
  })

  test('however few descriptors a process has left, its pulls fail and no more, and it recovers once it has some', async () => {
    await using scene = await Scene.set()
    const names = ['one', 'two', 'three']
    const sources = names.map((name) => [name, [`url: ${scene.git.serve(name, scene.repository)}`, 'every: 1s']])
    await scene.home.configure(Object.fromEntries(sources))
    const daemon = scene.home.start('start')
    const url = await daemon.line()
    const ends = async (since: number, isEnd: (line: string) => boolean): Promise<unknown> =>
      Promise.all(
        names.map(async (id) => daemon.said((line) => line.includes(`"source":"${id}"`) && isEnd(line), since)),
      )
    await ends(0, (line) => line.includes('"source-updated"'))

    for (let free = 0; free < ENOUGH; free += 1) {
      const since = daemon.stderr.length
      await limitDescriptors(daemon.pid, await limitFor(daemon.pid, free))
      const commit = await scene.commit()
      const isTaken = (line: string): boolean => line.includes('"source-updated"') && line.includes(commit)
      await ends(since, (line) => line.includes('"pull-failed"') || isTaken(line))
      await limitDescriptors(daemon.pid, MANY)
      await ends(since, isTaken)
    }

    expect((await listingAt(url)).size).toBeGreaterThan(0)
    expect(await daemon.stop()).toMatchObject({ status: 0 })
  })
})

/** With so many more a pull of three sources at once is done. */
const ENOUGH = 12
const MANY = 4_096

async function limitDescriptors(pid: number, limit: number): Promise<void> {
  await run('prlimit', ['--pid', `${pid}`, `--nofile=${limit}:`])
}

/** The limit that leaves a process so many more descriptors. */
async function limitFor(pid: number, free: number): Promise<number> {
  const used = new Set((await readdir(`/proc/${pid}/fd`)).map(Number))
  let limit = 0
  for (let left = free; left > 0 || used.has(limit); limit += 1) if (!used.has(limit)) left -= 1
  return limit
}
