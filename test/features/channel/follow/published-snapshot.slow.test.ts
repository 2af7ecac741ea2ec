import { describe, expect, test } from 'vitest'
import { digestOf } from '../../../../src/sync/model/digest.ts'
import type { Skill, SkillFile } from '../../../../src/sync/model/skill.ts'
import { skillNamed } from './site.ts'
import { World } from './world.ts'

const withLater = (file: SkillFile): object => ({ ...file, later: 1 })

/** The JSON of a good skill, with its files in the channel, but for what is edited. */
function edited(world: World, edit: (skill: Skill) => object): object {
  const { skill, bytes } = skillNamed('next', 'text', { 'notes.md': 'notes\n' })
  for (const file of bytes.values()) world.channel.object(file)
  return edit(skill)
}

/** The digest and the size are those of the edited files: nothing but the edit can be refused. */
const fileWith = (edit: Partial<SkillFile>) => (skill: Skill) => {
  const files = skill.files.map((file) => (file.path === 'notes.md' ? { ...file, ...edit } : file))
  return { ...skill, files, digest: digestOf(files), size: files.reduce((sum, { size }) => sum + size, 0) }
}

const BAD: Readonly<Record<string, (skill: Skill) => object>> = {
  'another digest': (skill) => ({ ...skill, digest: 'a'.repeat(64) }),
  'a digest that is none': (skill) => ({ ...skill, digest: '../../x' }),
  'no digest': ({ digest: _digest, ...skill }) => skill,
  'another size': (skill) => ({ ...skill, size: skill.size + 1 }),
  'a negative size': (skill) => ({ ...skill, size: -1 }),
  'a file that is shorter than it says': fileWith({ size: 60 }),
  'a file that is longer than it says': fileWith({ size: 3 }),
  'a file that is not there': fileWith({ sha256: 'b'.repeat(64) }),
  'a file outside of it': fileWith({ path: '../notes.md' }),
  'an absolute file': fileWith({ path: '/etc/notes.md' }),
  'a file with a NUL in its path': fileWith({ path: 'no\0tes.md' }),
  'a file without a path': fileWith({ path: '' }),
  'a file with a path of a lone surrogate': fileWith({ path: 'no\ud800tes.md' }),
  'a file at the path of another': fileWith({ path: 'SKILL.md' }),
  'a file at the path of another on some disks': fileWith({ path: 'skill.MD' }),
  'a file below a file': fileWith({ path: 'SKILL.md/notes.md' }),
  'a path outside of its source': (skill) => ({ ...skill, path: '../next' }),
  'a path with an empty segment': (skill) => ({ ...skill, path: 'a//next' }),
  'a URI outside of its source': (skill) => ({ ...skill, servedPath: '../next' }),
  'no URI, although it is served': ({ servedPath: _servedPath, ...skill }) => skill,
  'another frontmatter': (skill) => ({ ...skill, frontmatter: { ...skill.frontmatter, description: 'Harmless' } }),
  'a field more in its frontmatter': (skill) => ({
    ...skill,
    frontmatter: { ...skill.frontmatter, 'allowed-tools': 'Bash' },
  }),
  'a field less in its frontmatter': (skill) => ({ ...skill, frontmatter: { name: 'next' } }),
  'no frontmatter, although it is served': ({ frontmatter: _frontmatter, ...skill }) => skill,
  'another name': (skill) => ({ ...skill, name: 'other' }),
  'another description': (skill) => ({ ...skill, description: 'Harmless' }),
  'no SKILL.md': (skill) => ({ ...skill, files: skill.files.filter(({ path }) => path !== 'SKILL.md') }),
  'no files': (skill) => ({ ...skill, files: [], size: 0 }),
  'a standing that does not exist': (skill) => ({ ...skill, standing: 'trusted' }),
  'a list in place of a path': (skill) => ({ ...skill, path: ['next'] }),
}

/** The codes of what is noticed while it is fetched. */
const CODES: Readonly<Record<string, string>> = {
  'a file that is not there': 'source-unreachable',
  'a file that is longer than it says': 'limit-exceeded',
}

describe('a skill of a channel', () => {
  test.each(Object.entries(BAD))('with %s is refused', async (name, edit) => {
    await using world = await World.open()
    const one = skillNamed('one').skill
    await world.channel.publishSources(world.channel.source([one, edited(world, edit)]))

    await world.expectRefused(CODES[name] ?? 'content-refused')
    await world.recovers()
  })

  test.each([
    ['with a file of a huge size', fileWith({ size: 2 ** 40 }), 'limit-bytes'],
    ['with a path that is too long here', fileWith({ path: 'n'.repeat(300) }), 'path-refused'],
  ])('%s is withheld, and the others are taken', async (_, edit, rule) => {
    await using world = await World.open()
    const one = skillNamed('one').skill
    await world.channel.publishSources(world.channel.source([one, edited(world, edit)]))

    await world.follower.updated()
    const skills = world.follower.current?.snapshot.skills ?? []
    expect(skills.map(({ path, standing }) => [path, standing])).toEqual([
      ['team/next', 'withheld'],
      ['team/one', 'served'],
    ])
    expect(skills[0]?.findings).toMatchObject([{ rule, path: 'team/next' }])
  })

  test('as it should be is taken', async () => {
    await using world = await World.open()
    await world.channel.publishSources(world.channel.source([edited(world, (skill) => skill)]))

    await world.follower.updated()
    expect(Object.keys((await world.follower.skills())['team/next']?.files ?? {})).toEqual(['SKILL.md', 'notes.md'])
  })

  test.each([
    ['path', (skill: Skill) => ({ ...skill, servedPath: 'another' })],
    ['URI', (skill: Skill) => ({ ...skill, path: 'another' })],
  ])('at the %s of another one is refused', async (_, edit) => {
    await using world = await World.open()
    const next = edited(world, (skill) => skill)
    await world.channel.publishSources(world.channel.source([next, edited(world, edit)]))

    await world.expectRefused('content-refused', expect.stringContaining('same place'))
    await world.recovers()
  })

  test('at the path of one of another part of the channel is refused', async () => {
    await using world = await World.open()
    const { channel } = world
    const next = edited(world, (skill) => skill)
    await channel.publishSources(channel.source([next]), channel.source([next]))

    await world.expectRefused('content-refused')
    await world.recovers()
  })

  test('may have the files of one that is known, and is checked nevertheless', async () => {
    await using world = await World.open()
    const { skill } = skillNamed('one')
    await world.channel.publishSources(world.channel.source([{ ...skill, path: 'two', servedPath: 'two', size: 1 }]))

    await world.expectRefused('content-refused')
    await world.recovers()
  })

  test('keeps what it declares of __proto__ to itself', async () => {
    await using world = await World.open()
    const json = JSON.stringify([skillNamed('one').skill]).replace('"name"', '"__proto__":{"polluted":true},"name"')
    const list = world.channel.object(Buffer.from(json))
    await world.channel.publishSources(world.channel.source([], { skills: { items: [list] } }))

    await world.follower.pull()

    expect('polluted' in {}).toBe(false)
    expect(Object.keys(await world.follower.skills())).toEqual(['team/one'])
  })
})

describe('a channel', () => {
  /** Lists in lists, with the digest of an empty list of skills at the end. */
  const nested = (world: World, depth: number): string => {
    let list = world.channel.object({ items: [world.channel.object([])] })
    for (let level = 1; level < depth; level += 1) list = world.channel.object({ lists: [list] })
    return list
  }

  test.each([
    ['a head of another format', () => ({ format: 2, sources: { items: [] } })],
    ['a head without sources', () => ({ format: 1 })],
    ['a head with sources that are no digests', () => ({ format: 1, sources: { items: ['../x'] } })],
    [
      'a head that names itself as a source',
      (world: World) => ({ format: 1, sources: { items: [world.channel.object({ format: 1 })] } }),
    ],
    ['lists that are nested too deep', (world: World) => ({ format: 1, sources: { lists: [nested(world, 6)] } })],
    [
      'lists that are and are not lists of lists',
      (world: World) => ({ format: 1, sources: { lists: [nested(world, 1), nested(world, 2)] } }),
    ],
    [
      'a list with too many items',
      () => ({ format: 1, sources: { items: Array.from({ length: 1_025 }, () => 'a'.repeat(64)) } }),
    ],
    [
      'a source that is a file',
      (world: World) => ({ format: 1, sources: { items: [world.channel.object(Buffer.from('text'))] } }),
    ],
    [
      'a source with an id that is none',
      (world: World) => ({ format: 1, sources: { items: [world.channel.source([], { source: '../x' })] } }),
    ],
    [
      'a source with a commit that is none',
      (world: World) => ({ format: 1, sources: { items: [world.channel.source([], { commit: 'main' })] } }),
    ],
    [
      'skills that are no array',
      (world: World) => ({
        format: 1,
        sources: { items: [world.channel.source([], { skills: { items: [world.channel.object({ skills: [] })] } })] },
      }),
    ],
  ])('with %s is refused', async (_, head) => {
    await using world = await World.open()
    await world.channel.publishHead(head(world))

    await world.expectRefused('content-refused')
    await world.recovers()
  })

  test('with more skills than the limit is refused', async () => {
    await using world = await World.open({ limits: { files: 100 } })
    const { skill } = skillNamed('one')
    const skills = Array.from({ length: 101 }, (_, index) => ({ ...skill, path: `s${index}`, servedPath: `s${index}` }))
    await world.channel.publishSources(world.channel.source(skills))

    await world.expectRefused('limit-exceeded', expect.stringContaining('over 100 skills'))
    await world.recovers()
  })

  test('that grows over the limit is refused, also if the follower knows most of its lists', async () => {
    await using world = await World.open({ limits: { files: 100 } })
    const { channel, follower } = world
    const manyNamed = (letter: string): object[] =>
      Array.from({ length: 60 }, (_, number) => {
        const { skill, bytes } = skillNamed(`${letter}${number}`)
        for (const file of bytes.values()) channel.object(file)
        return skill
      })
    const list = channel.object(manyNamed('a'))
    await channel.publishSources(channel.source([], { skills: { items: [list] } }))
    await follower.updated()

    const more = channel.object(manyNamed('b'))
    await channel.publishSources(channel.source([], { skills: { items: [list, more] } }))

    expect(await follower.failure()).toMatchObject({ code: 'limit-exceeded' })
    expect(Object.keys(await follower.skills())).toHaveLength(60)
  })

  test('that names one list of a thousand over and over is refused, and read once', async () => {
    await using world = await World.open()
    const { channel } = world
    let list = channel.object([skillNamed('one').skill])
    for (const kind of ['items', 'lists', 'lists'])
      list = channel.object({ [kind]: Array.from({ length: 1_000 }, () => list) })
    await channel.publishSources(channel.source([], { skills: { lists: [list] } }))

    await world.expectRefused('limit-exceeded')
    await world.recovers()
  })

  test('that names one large list of skills a hundred thousand times needs the memory of one', async () => {
    await using world = await World.open()
    const { channel } = world
    const large = Buffer.concat([Buffer.from('[]'), Buffer.alloc(2 ** 20, ' ')])
    let list = channel.object(large)
    for (const count of [1_000, 100]) {
      const named = Array.from({ length: count }, () => list)
      list = channel.object(count === 1_000 ? { items: named } : { lists: named })
    }
    await channel.publishSources(channel.source([], { skills: { lists: [list] } }))
    const before = process.memoryUsage().rss

    await world.follower.pull()

    expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 29)
  })

  test('with fields of later versions is taken, without them', async () => {
    await using world = await World.open()
    const { channel } = world
    const { skill } = skillNamed('one')
    const finding = { rule: 'rule-of-next-year', path: 'one', message: 'new' }
    const later = {
      ...skill,
      later: 1,
      findings: [finding],
      files: skill.files.map(withLater),
    }
    const source = channel.source([later], { later: 1 })
    await channel.publishHead({ format: 1, sources: { items: [source] }, later: 1 })

    await world.follower.updated()

    expect(world.follower.current?.snapshot.skills).toMatchObject([{ path: 'team/one', findings: [] }])
    expect(JSON.stringify(world.follower.current?.snapshot)).not.toContain('later')
  })
})
