import { symlinkSync } from 'node:fs'
import { readdir, readlink, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createLink, removeOurs } from '../../../src/features/agent-folders/agent-folder.ts'
import { SKILL_LIMITS } from '../../../src/sync/model/skill.ts'
import { temporaryFolder } from '../../support/temporary.ts'

test('what cannot be looked at again once it was taken aside is put back', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'alpha')
  await symlink('/state/links/alpha', path)
  let looks = 0
  const entry = {
    digests: [],
    get targets(): readonly string[] {
      if ((looks += 1) > 1) throw new Error('too many open files')
      return ['/state/links/alpha']
    },
  }

  await expect(removeOurs(path, { entry, limits: SKILL_LIMITS, signal: NEVER })).rejects.toThrow('too many open files')

  expect(await readdir(folder.path)).toEqual(['alpha'])
  expect(await readlink(path)).toBe('/state/links/alpha')
})

test('two processes that put one link, or remove it, at once both find it done', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'alpha')
  const [before, after] = ['/earlier/links/alpha', '/state/links/alpha']
  const ours = { entry: { targets: [before, after], digests: [] }, limits: SKILL_LIMITS, signal: NEVER }
  const twice = async (act: () => Promise<boolean>): Promise<boolean[]> => Promise.all([act(), act()])

  const made = await twice(async () => createLink(path, before, ours))
  const switched = await twice(async () => createLink(path, after, ours))
  const link = await readlink(path)
  const removed = await twice(async () => removeOurs(path, ours))

  expect([made, switched, removed]).toEqual([
    [true, true],
    [true, true],
    [true, true],
  ])
  expect(link).toBe(after)
  expect(await readdir(folder.path)).toEqual([])
})

test('work that ended while content was looked at leaves it in its place', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'alpha')
  await symlink('/earlier/links/alpha', path)
  const over = new AbortController()
  let looks = 0
  const entry = {
    digests: [],
    get targets(): readonly string[] {
      if ((looks += 1) > 1) over.abort(new Error('it is over'))
      return ['/earlier/links/alpha']
    },
  }
  const ours = { entry, limits: SKILL_LIMITS, signal: over.signal }

  await expect(createLink(path, '/state/links/alpha', ours)).rejects.toThrow('it is over')

  expect(await readdir(folder.path)).toEqual(['alpha'])
  expect(await readlink(path)).toBe('/earlier/links/alpha')
})

test('an earlier version that another process puts there first is not taken for the wanted one', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'alpha')
  const [before, after] = ['/earlier/links/alpha', '/state/links/alpha']
  await symlink(before, path)
  let looks = 0
  const entry = {
    digests: [],
    get targets(): readonly string[] {
      if ((looks += 1) === 2) symlinkSync(before, path)
      return [before, after]
    },
  }

  const isThere = await createLink(path, after, { entry, limits: SKILL_LIMITS, signal: NEVER })

  expect(isThere).toBe(false)
  expect(await readlink(path)).toBe(before)
})

const NEVER = new AbortController().signal
