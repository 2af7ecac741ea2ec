import { describe, expect, test } from 'vitest'
import { linkableIn } from '../../../src/features/agent-folders/linkable-skills.ts'
import { copyGeneration } from '../../../src/features/hub-of-several/copy-generation.ts'
import { declaredSkills } from '../../../src/features/mcp-sources/listing/listing-skills.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { skillNamed } from '../../features/channel/follow/site.ts'
import { World } from '../../features/channel/follow/world.ts'
import { skillText } from '../../support/git/scripted-upstream.ts'
import { DECEPTIVE_PATHS, REFUSED_OF_HUB, REFUSED_PATHS } from '../../support/hostile/refused-paths.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { catalogOf } from '../catalog/catalogs.ts'
import { never, publishSamples, sample, snapshotOf, sourceId } from '../store/samples.ts'
import { noted, rulesWith, skillAt, surveyed } from '../survey/surveyed.ts'

const EVERYWHERE = Object.entries(REFUSED_PATHS)
const AT_A_FOLLOWER = [
  ...Object.entries({ ...REFUSED_PATHS, ...REFUSED_OF_HUB }).map(([what, path]) => [what, path, 'path-refused']),
  ...Object.entries(DECEPTIVE_PATHS).map(([what, path]) => [what, path, 'hidden-unicode']),
] as const

describe('a file of a skill with a path that has', () => {
  test.each(AT_A_FOLLOWER)('%s withholds the skill of a hub, and no other', async (_, path, rule) => {
    await using world = await World.open()
    const { skill, bytes } = skillNamed('next', 'text', { [path]: 'x' })
    for (const file of bytes.values()) world.channel.object(file)
    await world.channel.publishSources(world.channel.source([skillNamed('one').skill, skill]))

    await world.follower.updated()

    const skills = world.follower.current?.snapshot.skills ?? []
    expect(skills.map(({ path: at, standing, findings }) => [at, standing, findings.map((one) => one.rule)])).toEqual([
      ['team/next', 'withheld', [rule]],
      ['team/one', 'served', []],
    ])
  })

  test.each(EVERYWHERE)('%s withholds the skill of a tree, and no other', async (_, path) => {
    const found = await surveyed({
      'a/SKILL.md': skillText('a'),
      [`a/${path}`]: 'x',
      'b/SKILL.md': skillText('b'),
    })

    expect(noted(skillAt(found, 'a').findings)).toContain(`path-refused a/${path}`)
    expect([skillAt(found, 'a').standing, skillAt(found, 'b').standing]).toEqual(['withheld', 'served'])
  })

  test.each(EVERYWHERE)('%s withholds the skill of an MCP server', async (_, path) => {
    const uris = ['SKILL.md', path].map((one) => `skill://a/${one.split('/').map(encodeURIComponent).join('/')}`)
    const resources = uris.map((uri) => ({ uri, digest: `sha256:${'0'.repeat(64)}`, size: 1 }))
    const entry = { uri: uris[0], frontmatter: { name: 'a', description: 'Fill in' }, resources }

    const { skills } = await declaredSkills(sourceId('au'), [entry], rulesWith(), never())

    expect(skills.map(({ standing }) => standing)).toEqual(['withheld'])
  })

  test.each(EVERYWHERE)('%s is not copied from the database of a hub', async (_, path) => {
    await using folder = await temporaryFolder()
    const [from, to] = [await Store.open(`${folder.path}/from`), await Store.open(`${folder.path}/to`)]
    const held = await publishSamples(from, new Date(), sample('odd', { 'SKILL.md': 'x' }))
    const odd = snapshotOf(sample('odd', { 'SKILL.md': 'x', [path]: 'x' }))
    const [snapshot] = await from.objects.put([Buffer.from(JSON.stringify(odd))])
    await from.generations.publish([{ ...held, snapshot: snapshot ?? '' }], new Date())
    const head = (await from.objects.head())!

    await expect(copyGeneration(head, { from: from.objects, to: to.objects }, never())).rejects.toThrow(
      'it is not what a skillsyncd writes',
    )
  })

  test.each(EVERYWHERE)('%s keeps the skill out of the folders of agents', (_, path) => {
    const odd = sample('odd', { 'SKILL.md': 'x', [path]: 'x' })
    const catalog = catalogOf(snapshotOf(sample('good', { 'SKILL.md': 'x' }), odd))

    expect(linkableIn(catalog, new Map()).map(({ name }) => name)).toEqual(['good'])
  })
})

test.each(['.gitignore', '.gitattributes', '.github/x.md', 'a.git/x', 'git~10/x', '.gitx', '…/.gi'])(
  'the path %s is that of a file of a skill',
  async (path) => {
    await using world = await World.open()
    const { skill, bytes } = skillNamed('next', 'text', { [path]: 'x' })
    for (const file of bytes.values()) world.channel.object(file)
    await world.channel.publishSources(world.channel.source([skill]))

    await world.follower.updated()

    expect(world.follower.current?.snapshot.skills.map(({ standing }) => standing)).toEqual(['served'])
  },
)

test('hidden text of a hub is judged here, whatever the hub has found', async () => {
  await using world = await World.open()
  const tags = '\u{e0049}\u{e0067}\u{e006e}'
  const bad = [
    skillNamed('tags', `text${tags}`),
    skillNamed('order', 'text \u202egpj.sh'),
    skillNamed('beside', 'text', { 'notes.md': `notes ${tags}` }),
    skillNamed('noted', 'zero\u200bwidth'),
    skillNamed('plain', 'text'),
  ]
  for (const { bytes } of bad) for (const file of bytes.values()) world.channel.object(file)
  await world.channel.publishSources(world.channel.source(bad.map(({ skill }) => skill).toSorted(byPath)))

  await world.follower.updated()

  const skills = world.follower.current?.snapshot.skills ?? []
  expect(skills.map(({ name, standing, findings }) => [name, standing, findings.map(({ rule }) => rule)])).toEqual([
    ['beside', 'withheld', ['hidden-unicode']],
    ['noted', 'served', ['hidden-unicode']],
    ['order', 'withheld', ['hidden-unicode']],
    ['plain', 'served', []],
    ['tags', 'withheld', ['hidden-unicode']],
  ])
})

function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : 1
}
