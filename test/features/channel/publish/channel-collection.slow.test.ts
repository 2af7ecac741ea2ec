import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Store } from '../../../../src/sync/store/store.ts'
import { signerText } from '../../../../src/sync/transparency-log/signed-note.ts'
import { Scene, skill } from '../../../support/http/marketplace.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { Follower } from '../follow/follower.ts'
import { ORIGIN, sha256, SIGNER } from '../follow/site.ts'

test('a collection keeps what the newest entry names, and drops what only old ones name', async () => {
  await using folder = await temporaryFolder()
  const key = join(folder.path, 'channel.key')
  await writeFile(key, signerText(SIGNER, Buffer.alloc(32, 1)), { mode: 0o600 })
  await using scene = await Scene.serving(
    { 'tidy/SKILL.md': skill('tidy'), 'tidy/notes.md': 'first\n', 'other/SKILL.md': skill('other') },
    {
      config: [
        `channel: { name: ${ORIGIN}, key: { file: ${key} } }`,
        `publish: [{ to: ${folder.path}/out }]`,
        'retention: { generations: 1, younger_than: 1ms }',
      ],
    },
  )
  const { daemon, config } = scene.served
  daemon.poll()
  const isCurrent = async () => {
    await expect.poll(() => daemon.parts.status.status().channels?.every((one) => one.isCurrent)).toBe(true)
  }
  await isCurrent()

  for (const text of ['second\n', 'third\n', 'fourth\n']) {
    await scene.commit({ 'tidy/notes.md': text })
    await isCurrent()
  }
  // Each pull collects what the pulls before it have left.
  await scene.served.sync()

  using store = await Store.openExisting(config.state)
  const digests = ['first\n', 'second\n', 'fourth\n'].map((text) => sha256(Buffer.from(text)))
  expect(await store?.objects.missing(digests)).toEqual(digests.slice(0, 2))
  await using follower = await Follower.open({ place: `${scene.origin}/channel/` })
  await follower.updated()
  expect((await follower.skills())['fx/tidy']?.files['notes.md']).toBe('fourth\n')
})
