import { tmpdir } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runToEnd } from '../../../src/sync/upstream/child-group.ts'

test('where no program starts, an abort that comes later rejects nothing that is left alone', async () => {
  const stop = new AbortController()
  const unheard: unknown[] = []
  const hear = (reason: unknown): void => void unheard.push(reason)
  process.on('unhandledRejection', hear)
  const start = { command: 'no-such-program', args: [], cwd: tmpdir(), env: { PATH: '/nowhere' }, fileBytes: undefined }
  const bounds = { firstMs: 1_000, idleMs: 1_000, outputBytes: 1_000 }

  const refused = await runToEnd(start, '', bounds, 'asked', stop.signal).catch((error: unknown) => error)
  stop.abort()
  await turn()
  process.off('unhandledRejection', hear)

  expect(refused).toMatchObject({ code: 'source-unreachable' })
  expect(unheard).toEqual([])
})
