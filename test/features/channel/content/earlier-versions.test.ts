import { expect, test } from 'vitest'
import { ChannelContents } from '../../../../src/features/channel/content/channel-contents.ts'
import { parseSkills } from '../../../../src/features/channel/content/channel-schema.ts'
import { skillText } from '../../../support/git/scripted-upstream.ts'
import { Scene } from '../../../sync/pull/pulled.ts'
import { never } from '../../../sync/store/samples.ts'

test('a channel has an earlier version with its files and the finding that names its commit, and nothing of the lock', async () => {
  await using scene = await Scene.open()
  await scene.updated({ onBroken: 'keep' })
  const [good] = scene.current!.snapshot.skills
  scene.upstream.files = { 'pdf/SKILL.md': '---\nname: pdf\n', 'xls/SKILL.md': skillText('xls') }
  const { snapshot } = await scene.updated({ onBroken: 'keep' })

  const { lists, named } = await new ChannelContents(scene.store.objects).keep(
    { snapshots: [snapshot], disabled: new Map(), earlier: [], recalls: [] },
    never(),
  )

  const [list = ''] = lists
  const [pdf] = parseSkills((await scene.store.objects.get(list))!)!
  expect(pdf).toEqual({ ...good, findings: [expect.objectContaining({ rule: 'kept-version', path: 'pdf' })] })
  expect(good!.files.every(({ sha256 }) => named.has(sha256))).toBe(true)
})
