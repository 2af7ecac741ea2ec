import { describe, expect, test } from 'vitest'
import { EMPTY_CATALOG, buildCatalog, type Catalog } from '../../../src/sync/catalog/catalog.ts'
import { filesOf } from '../../../src/sync/catalog/skill-files.ts'
import { comparePaths } from '../../../src/sync/model/digest.ts'
import { readSkillUri } from '../../../src/sync/model/uris/skill-uri.ts'
import { tallyOf, UNDECIDED_SKILLS } from '../../../src/sync/model/verdict/skill-states.ts'
import { skillText } from '../../support/git/scripted-upstream.ts'
import { sourceId } from '../store/samples.ts'
import { surveyed } from '../survey/surveyed.ts'
import { catalogOf, catalogsOf, holdsForCatalogs } from './catalogs.ts'

const MINUTE = 120_000

test('the digest is another while other skills are disabled, and the same again after that', async () => {
  const snapshot = await surveyed({ 'a/SKILL.md': skillText('a'), 'b/SKILL.md': skillText('b') })
  const generation = { number: 1, createdAt: '', sources: [{ source: snapshot.source, snapshot: 'x' }] }
  const without = (...paths: readonly string[]): Catalog =>
    buildCatalog(generation, [snapshot], new Map([[snapshot.source, new Set(paths)]]))

  const digests = [[], ['a'], ['b'], ['a', 'b'], ['gone']].map((paths) => without(...paths).digest)

  expect(new Set(digests).size).toBe(5)
  expect(without().digest).toBe(buildCatalog(generation, [snapshot]).digest)
  expect([...without('a').skills.keys()]).toEqual(['skill://team/b/SKILL.md'])
})

describe('the catalog of any repository', () => {
  test('has one content for each URI, and no two skills at one', { timeout: MINUTE }, async () => {
    await holdsForCatalogs(150, (catalogs) => {
      for (const { skills, files } of catalogs) {
        const contents = new Map<string, string>()
        for (const skill of skills.values()) {
          expect(filesOf(skill)[0]?.uri).toBe(skill.uri)
          expect(files.get(skill.uri)?.documents?.uri).toBe(skill.uri)
          const others = filesOf(skill)
            .slice(1)
            .map(({ uri }) => uri)
          expect(others).toEqual(others.toSorted(comparePaths))
          for (const { uri, file } of filesOf(skill)) {
            const content = `${file.sha256} ${file.size} ${file.executable}`
            expect(contents.get(uri) ?? content).toBe(content)
            contents.set(uri, content)
          }
        }
        const served = [...files.values()].map(({ uri, file }) => [
          uri,
          `${file.sha256} ${file.size} ${file.executable}`,
        ])
        expect(Object.fromEntries(served)).toEqual(Object.fromEntries(contents))
      }
    })
  })

  test('serves every skill that is to be, each at a URI of its own', { timeout: MINUTE }, async () => {
    await holdsForCatalogs(100, (catalogs) => {
      for (const { snapshots, skills, listed } of catalogs) {
        for (const snapshot of snapshots) {
          const { seen, served, partly, withheld, links } = tallyOf(snapshot.skills, UNDECIDED_SKILLS)
          const tools = snapshot.skills.filter(({ standing }) => standing === 'tools').length
          expect(served + partly - tools).toBe(skills.size)
          expect(served + partly + withheld + links).toBe(seen)
          expect(seen).toBe(snapshot.skills.length)
        }
        const unlisted = [...skills.values()].filter(({ skill }) => skill.standing === 'unlisted')
        expect(listed.length + unlisted.length).toBe(skills.size)
      }
    })
  })

  test('has no URI that cannot be asked for, and none that names two things', { timeout: MINUTE }, async () => {
    await holdsForCatalogs(100, (catalogs) => {
      for (const { skills, files, folders, withheld } of catalogs) {
        for (const uri of [...[...files.values()].map(({ uri }) => uri), ...folders.keys()]) {
          expect(readSkillUri(uri)).toEqual({ ok: true, canonical: uri, trailingSlash: false })
        }
        for (const uri of folders.keys()) expect(files.has(uri)).toBe(false)
        for (const uri of withheld.keys()) expect(skills.has(uri)).toBe(false)
      }
    })
  })

  test('leads from the source to every file of a listed skill, and nowhere else', { timeout: MINUTE }, async () => {
    await holdsForCatalogs(150, (catalogs) => {
      for (const catalog of catalogs) {
        const met = walk(catalog, 'skill://team')
        for (const skill of catalog.listed) for (const { uri } of filesOf(skill)) expect(met).toContain(uri)
        for (const uri of met) expect(catalog.files.has(uri)).toBe(true)
        expect(new Set(met).size).toBe(met.length)
      }
    })
  })
})

describe('an unlisted skill', () => {
  const files = {
    'a/SKILL.md': skillText('a'),
    'hidden/u/SKILL.md': skillText('u'),
    'hidden/u/ref/x.md': 'x',
  }

  test('is answered for, its own folders too, and appears in no list and no folder above', async () => {
    const catalog = catalogOf(await surveyed(files, { unlisted: ['hidden/**'] }))

    expect(catalog.listed.map(({ uri }) => uri)).toEqual(['skill://team/a/SKILL.md'])
    expect(catalog.skills.has('skill://team/hidden/u/SKILL.md')).toBe(true)
    expect(childrenOf(catalog, 'skill://team')).toEqual(['a'])
    expect(childrenOf(catalog, 'skill://team/hidden')).toBeUndefined()
    expect(childrenOf(catalog, 'skill://team/hidden/u')).toEqual(['SKILL.md', 'ref'])
    expect(childrenOf(catalog, 'skill://team/hidden/u/ref')).toEqual(['x.md'])
  })

  test('does not hide a listed one that lies in it', async () => {
    const nested = { ...files, 'hidden/u/in/SKILL.md': skillText('in') }

    const catalog = catalogOf(await surveyed(nested, { unlisted: ['hidden/u'] }))

    expect(catalog.listed.map(({ uri }) => uri)).toContain('skill://team/hidden/u/in/SKILL.md')
    expect(walk(catalog, 'skill://team')).toContain('skill://team/hidden/u/in/SKILL.md')
  })

  test('is shown as files of a listed one around it', async () => {
    const nested = { 'o/SKILL.md': skillText('o'), 'o/u/SKILL.md': skillText('u') }

    const catalog = catalogOf(await surveyed(nested, { unlisted: ['o/u'] }))

    expect(walk(catalog, 'skill://team')).toEqual(['skill://team/o/SKILL.md', 'skill://team/o/u/SKILL.md'])
    expect(catalog.listed.map(({ name }) => name)).toEqual(['o'])
  })
})

describe('a withheld skill', () => {
  test('whose name is half a surrogate pair takes nobody along', async () => {
    const hostile = '---\nname: "\\ud800"\n---\n'

    const catalog = catalogOf(await surveyed({ 'a/SKILL.md': skillText('a'), 'b/SKILL.md': hostile }))

    expect(catalog.listed.map(({ name }) => name)).toEqual(['a'])
  })

  test('whose name climbs out of the source is at no URI', async () => {
    const hostile = '---\nname: ../../other/x\n---\n'

    const catalog = catalogOf(await surveyed({ 'b/SKILL.md': hostile }))

    expect([...catalog.withheld.keys()]).toEqual([])
  })

  test('is found by the URI that it would have', async () => {
    const catalog = catalogOf(await surveyed({ 'a/SKILL.md': '---\nname: a\n---\n' }))

    expect([...catalog.withheld.keys()]).toEqual(['skill://team/a/SKILL.md'])
    expect(catalog.skills.size).toBe(0)
  })
})

test('files of a nested skill are the outer one’s too, and its SKILL.md knows whose it is', async () => {
  const [catalog] = await catalogsOf([
    { 'o/SKILL.md': skillText('o'), 'o/i/SKILL.md': skillText('i'), 'o/i/ref.md': 'x', 'o/i/bad/SKILL.md': '# none' },
  ])

  const outer = catalog!.skills.get('skill://team/o/SKILL.md')
  expect(filesOf(outer!).map(({ uri }) => uri.slice('skill://team/o/'.length))).toEqual([
    'SKILL.md',
    'i/SKILL.md',
    'i/bad/SKILL.md',
    'i/ref.md',
  ])
  expect(catalog!.files.get('skill://team/o/i/SKILL.md')?.documents?.name).toBe('i')
  expect(catalog!.files.get('skill://team/o/i/bad/SKILL.md')?.documents).toBeUndefined()
  expect([...catalog!.skills.keys()]).toEqual(['skill://team/o/SKILL.md', 'skill://team/o/i/SKILL.md'])
})

test('files are in the order of their URIs, also where that of their paths is another', async () => {
  const [catalog] = await catalogsOf([{ 'a/SKILL.md': skillText('a'), 'a/a b.md': '1', 'a/a!b.md': '2' }])

  const uris = filesOf(catalog!.skills.get('skill://team/a/SKILL.md')!).map(({ uri }) => uri)

  expect(uris).toEqual(['SKILL.md', 'a!b.md', 'a%20b.md'].map((name) => `skill://team/a/${name}`))
})

test('names are encoded segment by segment, and children keep theirs', async () => {
  const [catalog] = await catalogsOf([
    { 'a/SKILL.md': skillText('a'), 'a/x y/q?x#y.md': '1', 'a/x%20y/ü': '2', 'a/x y.md': '3' },
  ])

  expect(childrenOf(catalog!, 'skill://team/a')).toEqual(['SKILL.md', 'x y', 'x y.md', 'x%20y'])
  expect(catalog!.files.get('skill://team/a/x%20y/q%3Fx%23y.md')?.name).toBe('q?x#y.md')
  expect(catalog!.files.get('skill://team/a/x%2520y/%C3%BC')?.name).toBe('ü')
})

test('two sources with one skill have a URI each, and the same bytes behind them', async () => {
  const snapshot = await surveyed({ 'a/SKILL.md': skillText('a') })

  const catalog = catalogOf(snapshot, { ...snapshot, source: sourceId('house') })

  expect(catalog.listed.map(({ uri }) => uri)).toEqual(['skill://house/a/SKILL.md', 'skill://team/a/SKILL.md'])
  expect(new Set(catalog.listed.map(({ digest }) => digest)).size).toBe(1)
})

test('a source without a skill is a folder without a child', async () => {
  const catalog = catalogOf(await surveyed({ 'README.md': 'x' }))

  expect(childrenOf(catalog, 'skill://team')).toEqual([])
  expect([...EMPTY_CATALOG.folders.keys()]).toEqual([])
})

function childrenOf(catalog: Catalog, uri: string): string[] | undefined {
  return catalog.folders.get(uri)?.map(({ name }) => name)
}

/** The files that a client comes to that reads folder after folder. */
function walk(catalog: Catalog, folder: string): string[] {
  const children = catalog.folders.get(folder)
  if (children === undefined) throw new Error(`No folder at "${folder}"`)
  return children.flatMap((child) => ('kind' in child ? walk(catalog, child.uri) : [child.uri]))
}
