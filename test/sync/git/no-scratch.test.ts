import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { startFront } from '../upstream/front.ts'
import { reach } from '../upstream/reached.ts'
import { failureOf } from '../upstream/served.ts'

test('a fetch whose scratch folder is removed while it asks fails with the reason of the disk, and what to do', async () => {
  await using folder = await temporaryFolder()
  await using repository = await Repository.create()
  await repository.commit({ 'a.md': 'a' })
  await using server = await GitServer.start()
  const scratch = join(folder.path, 'scratch')
  await using front = await startFront(
    server.origin,
    () => false,
    (body) => {
      if (body.includes('want ')) rmSync(scratch, { recursive: true, force: true })
      return undefined
    },
  )
  await using reached = await reach(server.serve('team', repository).replace(server.origin, front.origin), { scratch })

  const failure = await failureOf(reached.tree())

  expect(failure).toMatchObject({ code: 'store-failed', message: expect.stringMatching(/^Cannot fetch: .*ENOENT/) })
  expect(failure.fix).toBe('Make what is missing at that place, or name another place')
})
