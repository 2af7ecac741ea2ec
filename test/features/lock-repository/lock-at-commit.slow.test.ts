import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { lockTextAt } from '../../../src/features/lock-repository/lock-follower.ts'
import { mendOf } from '../../../src/sync/model/sync-error.ts'
import { Repository } from '../../support/git/repository.ts'
import { reach, STEADY } from '../../sync/upstream/reached.ts'
import { failureOf } from '../../sync/upstream/served.ts'

test.each<readonly [string, number, boolean, string, RegExp, RegExp]>([
  [
    'is larger than a skill may be',
    8,
    true,
    'limit-exceeded',
    /^Cannot follow the lock: "skills\.lock" in commit [0-9a-f]{40} is over limits\.skill\.bytes$/,
    /^Raise `limits\.skill\.bytes`/,
  ],
  [
    'is not in the repository that names it',
    2 ** 20,
    false,
    'source-unreachable',
    /^Cannot follow the lock: the repository did not send "skills\.lock" in commit [0-9a-f]{40}$/,
    /^Check the address and its port/,
  ],
])('a lock that %s is not followed', async (_, blobBytes, isThere, code, message, mend) => {
  await using repository = await Repository.create()
  await repository.commit({ 'skills.lock': 'a lock of some length' })
  const blob = await repository.git('rev-parse', 'main:skills.lock')
  if (!isThere) await rm(join(repository.folder, 'objects', blob.slice(0, 2), blob.slice(2)))
  await using reached = await reach(pathToFileURL(repository.folder).href, { limits: { blobBytes } })
  const { upstream } = reached
  const revision = await upstream.resolve(STEADY)

  const failure = await failureOf(lockTextAt({ upstream, revision, path: 'skills.lock', prove: undefined }, STEADY))

  expect(failure).toMatchObject({ code, message: expect.stringMatching(message) })
  expect(mendOf(failure)).toMatch(mend)
})
