import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Strace } from '../support/process/strace.ts'
import { Scene } from './scene.ts'

const OBSTACLE = await Strace.obstacle()

/** Calls that fail, each with the place of the state folder that it is about; with none, wherever they go. */
const ERRORS: readonly (readonly [inject: string, ...place: string[]])[] = [
  ['fsync:error=EIO'],
  ['fsync:error=EIO', 'store.db-wal'],
  ['pwrite64:error=EIO', 'store.db-wal'],
  ['pwrite64:error=ENOSPC', 'store.db-wal'],
  ['pwrite64:error=EDQUOT', 'store.db-wal'],
  ['mkdir:error=ENOSPC'],
  ['mkdir:error=EDQUOT'],
  ['openat:error=EMFILE', 'store.db'],
  ['openat:error=EMFILE', 'store.db-wal'],
]

describe.skipIf(OBSTACLE !== undefined)(
  `on a disk that says no${OBSTACLE === undefined ? '' : `, but ${OBSTACLE}`}`,
  () => {
    test('35, 37: whichever call the disk refuses, what was served is served, the problem says so, and it recovers by itself', async () => {
      await using scene = await Scene.set()
      await scene.play()

      for (const [inject, ...place] of ERRORS) {
        const said = scene.fromNow()
        await using strace = await Strace.on(scene.daemon.pid, {
          inject,
          paths: place.map((name) => join(scene.home.state, name)),
        })
        const commit = await scene.commit()
        const failed = await said((line) => line.includes('"pull-failed","source"') || line.includes(commit))
        expect(failed, [inject, ...place].join(' ')).toContain('"code":"store-failed"')
        await scene.witness.looksAgain()
        await strace[Symbol.asyncDispose]()
        await said((line) => line.includes('"source-updated"') && line.includes(commit))
      }

      await scene.recovers()
      await scene.expectWell()
    })
  },
)
