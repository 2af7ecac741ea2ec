import { chmod, cp, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isTemporary } from '../../../../src/sync/store/files/atomic.ts'
import type { StoredSkill } from '../../../../src/sync/store/skills/stored-path.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { MOMENTS, isKilledIn, killAtCalls } from '../changes.ts'
import { numbered, publishSamples, verifyCurrent } from '../samples.ts'

const [WANTED, OTHER] = [numbered(1).stored, numbered(2).stored]
const CASES = MOMENTS.flatMap((moment) => [
  { moment, before: 'absent', prepare: async () => {} },
  { moment, before: 'edited', prepare: edit },
])

test.each(CASES)(
  'a checkout that was $before is whole, absent or as before where its process is killed $moment any call, and the next one is whole',
  async ({ moment, prepare }) => {
    await using first = await temporaryFolder()
    await preparedState(first.path, prepare)
    const before = await damageIn(first.path, WANTED)

    const calls = await killAtCalls(async (call) => {
      await using folder = await temporaryFolder()
      const state = folder.path
      await cp(first.path, state, { recursive: true })
      const isKilled = await isKilledIn({ work: 'checkout', state }, { call, moment })
      using store = await Store.open(state)

      expect([WHOLE, ABSENT, before], `killed ${moment} call ${call}`).toContainEqual(await damageIn(state, WANTED))
      expect([WHOLE, ABSENT]).toContainEqual(await damageIn(state, OTHER))
      await store.sweep()
      await store.checkouts.ensure(WANTED)
      expect(await damageIn(state, WANTED)).toEqual(WHOLE)
      expect(await store.checkouts.strangersIn(WANTED)).toEqual([])
      expect(await litterIn(store)).toEqual([])
      expect(await verifyCurrent(store)).toBe(1)
      return isKilled
    })

    expect(calls).toBeGreaterThan(20)
  },
)

const WHOLE: readonly string[] = []
const ABSENT = 'absent'

/** A state folder with two skills, and a checkout of the second, which is to be removed. */
async function preparedState(state: string, prepare: (store: Store) => Promise<void>): Promise<void> {
  using store = await Store.open(state)
  await publishSamples(store, new Date(), numbered(1), numbered(2))
  await store.checkouts.ensure(OTHER)
  await prepare(store)
}

/** Does what an agent may: changes a file, and leaves one of its own. */
async function edit(store: Store): Promise<void> {
  const folder = await store.checkouts.ensure(WANTED)
  await chmod(join(folder, 'SKILL.md'), 0o644)
  await writeFile(join(folder, 'SKILL.md'), 'edited')
  await writeFile(join(folder, 'cache'), 'cached')
}

/** The files of a checkout that are not as stored. */
async function damageIn(state: string, skill: StoredSkill): Promise<typeof ABSENT | readonly string[]> {
  using store = await Store.openExisting(state)
  if (!(await store!.checkouts.has(skill))) return ABSENT
  return (await store!.checkouts.damageIn(skill)).map(({ path }) => path)
}

async function litterIn(store: Store): Promise<string[]> {
  const names = await readdir(store.folder.at('checkouts'))
  return [...names.filter(isTemporary), ...(await readdir(store.folder.at('tmp')))]
}
