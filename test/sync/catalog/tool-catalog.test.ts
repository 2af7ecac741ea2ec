import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { buildCatalog, type Catalog } from '../../../src/sync/catalog/catalog.ts'
import { offeredIn, type Offered } from '../../../src/sync/catalog/tool-catalog.ts'
import type { Skill, Standing } from '../../../src/sync/model/skill.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import { skillText } from '../../support/git/scripted-upstream.ts'
import { snapshotOf, sourceId } from '../store/samples.ts'
import { surveyed, type Edited } from '../survey/surveyed.ts'
import { catalogOf } from './catalogs.ts'

/** The files as those of a source. */
async function from(source: string, files: Readonly<Record<string, string>>, edit: Edited = {}): Promise<Snapshot> {
  return { ...(await surveyed(files, edit)), source: sourceId(source) }
}

function idsIn(catalog: Catalog): string[] {
  return offeredIn(catalog).listed.map(({ id }) => id)
}

/** Source and true folder of what an id can mean. */
function meant(catalog: Catalog, id: string): string[] {
  return offeredIn(catalog).find(id).map(placeOf)
}

function placeOf({ source, skill }: Pick<Offered, 'source' | 'skill'>): string {
  return `${source}/${skill.path}`
}

test('an id is as short as it can be, and longer ones lead to the same', async () => {
  const team = await from('team', {
    'alpha/SKILL.md': skillText('alpha'),
    'x/beta/SKILL.md': skillText('beta'),
    'x/twin/SKILL.md': skillText('twin'),
    'y/twin/SKILL.md': skillText('twin'),
  })
  const house = await from('house', { 'deep/er/beta/SKILL.md': skillText('beta') })
  const catalog = catalogOf(team, house)

  expect(idsIn(catalog)).toEqual(['alpha', 'house/beta', 'team/beta', 'team/x/twin', 'team/y/twin'])
  for (const id of ['alpha', 'team/alpha']) expect(meant(catalog, id)).toEqual(['team/alpha'])
  for (const id of ['house/beta', 'house/deep/er/beta']) expect(meant(catalog, id)).toEqual(['house/deep/er/beta'])
  expect(meant(catalog, 'beta')).toEqual(['team/x/beta', 'house/deep/er/beta'])
  expect(meant(catalog, 'team/twin')).toEqual(['team/x/twin', 'team/y/twin'])
  for (const id of ['gamma', 'house/alpha', 'Alpha', '', 'team', 'team/']) expect(meant(catalog, id)).toEqual([])
})

test('an id that is the path of one skill never means another', async () => {
  const files = { 'd/SKILL.md': skillText('d'), 'x/d/SKILL.md': skillText('d') }
  const catalog = catalogOf(await from('team', files), await from('house', { 'd/SKILL.md': skillText('d') }))

  expect(idsIn(catalog)).toEqual(['house/d', 'team/d', 'team/x/d'])
  expect(meant(catalog, 'team/d')).toEqual(['team/d'])
})

test('the skill that is the root of its source is called as it says, else as the source', async () => {
  const named = catalogOf(await from('team', { 'SKILL.md': skillText('alpha') }))
  const unnamed = catalogOf(await from('team', { 'SKILL.md': '---\ndescription: [\n---\n' }))
  const slashed = catalogOf(await from('team', { 'SKILL.md': '---\nname: a/b\ndescription: c\n---\n' }))
  const met = catalogOf(await from('team', { 'SKILL.md': skillText('alpha'), 'x/alpha/SKILL.md': skillText('alpha') }))

  expect([named, unnamed, slashed].map(idsIn)).toEqual([['alpha'], ['team'], ['team']])
  expect(idsIn(met).toSorted()).toEqual(['team/', 'team/x/alpha'])
  expect(meant(met, 'team/')).toEqual(['team/'])
})

test('what the frontmatter says is given as it is, and what is wrong where it says nothing', async () => {
  const catalog = catalogOf(
    await from('team', {
      'pdf/SKILL.md': '---\nname: "PDF  Processing "\ndescription: " Fills forms"\n---\n',
      'broken/SKILL.md': '---\nname: broken\ndescription: [\n---\n',
      'nameless/SKILL.md': '---\ndescription: Has no name\n---\n',
      'kept/SKILL.md': '# no frontmatter\n',
    }),
  )

  const said = offeredIn(catalog).listed.map(({ id, name, description, uri }) => [id, name, description, uri])

  expect(said).toEqual([
    ['broken', 'broken', expect.stringMatching(/^It has no description: The frontmatter is not valid YAML/), undefined],
    ['nameless', 'nameless', 'Has no name', undefined],
    ['pdf', 'PDF  Processing ', ' Fills forms', undefined],
  ])
})

test('what is unlisted is found, is no candidate, and takes no id from what is listed', async () => {
  const files = {
    'alpha/SKILL.md': skillText('alpha'),
    'drafts/alpha/SKILL.md': skillText('alpha'),
    'drafts/beta/SKILL.md': skillText('beta'),
    'drafts/x/twin/SKILL.md': skillText('twin'),
    'drafts/y/twin/SKILL.md': skillText('twin'),
  }
  const catalog = catalogOf(await from('team', files, { unlisted: ['drafts/**'] }))

  expect(idsIn(catalog)).toEqual(['alpha'])
  expect(meant(catalog, 'alpha')).toEqual(['team/alpha'])
  expect(meant(catalog, 'team/drafts/alpha')).toEqual(['team/drafts/alpha'])
  expect(meant(catalog, 'beta')).toEqual(['team/drafts/beta'])
  expect(meant(catalog, 'twin')).toEqual([])
})

test('a skill that a person disabled is not offered, and its id is free for others', async () => {
  const team = await from('team', { 'alpha/SKILL.md': skillText('alpha'), 'x/alpha/SKILL.md': skillText('alpha') })
  const generation = { number: 1, createdAt: '', sources: [{ source: team.source, snapshot: 'x' }] }
  const catalog = buildCatalog(generation, [team], new Map([[team.source, new Set(['alpha'])]]))

  expect(idsIn(catalog)).toEqual(['alpha'])
  expect(meant(catalog, 'alpha')).toEqual(['team/x/alpha'])
  expect(meant(catalog, 'team/alpha')).toEqual(['team/x/alpha'])
})

describe('for any catalog', () => {
  // Sources and folders share names, so that whatever can be taken for something else is.
  const NAMES = ['a', 'b', 'c'] as const
  const name = fc.constantFrom(...NAMES)
  const path = fc.array(name, { maxLength: 3 }).map((names) => names.join('/'))
  const standing = fc.constantFrom<Standing>('served', 'tools', 'tools', 'unlisted', 'withheld')
  const skills = fc.uniqueArray(
    fc.record({ path, standing, name: fc.option(fc.oneof(name, fc.constant('a/b')), { nil: undefined }) }),
    { selector: (skill) => skill.path, maxLength: 12 },
  )
  const catalogs = fc.uniqueArray(fc.tuple(name, skills), { selector: ([source]) => source }).map((sources) =>
    catalogOf(
      ...sources.map(([source, found]) => ({
        ...snapshotOf(),
        source: sourceId(source),
        skills: found.map(skillFrom),
      })),
    ),
  )

  test('each listed id leads to exactly its skill, and no two are equal', () => {
    fc.assert(
      fc.property(catalogs, (catalog) => {
        const { listed, find } = bound(catalog)

        for (const offered of listed) expect(find(offered.id)).toEqual([offered])
        expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length)
        const due = catalog.snapshots.flatMap(({ source, skills: all }) =>
          all
            .filter((skill) => skill.standing === 'served' || skill.standing === 'tools')
            .map((skill) => placeOf({ source, skill })),
        )
        expect(listed.map(placeOf).toSorted()).toEqual(due.toSorted())
      }),
      { numRuns: 500 },
    )
  })

  test('source and path lead to a skill in any case, and to nothing where it is withheld', () => {
    fc.assert(
      fc.property(catalogs, (catalog) => {
        for (const { source, skills: all } of catalog.snapshots) {
          for (const skill of all) {
            const found = bound(catalog)
              .find(`${source}/${skill.path}`)
              .map((offered) => offered.skill)
            // Its path can still read like the short id of another.
            const others = found.filter((other) => other !== skill)
            expect([found.includes(skill), skill.standing === 'withheld' || others.length === 0]).toEqual([
              skill.standing !== 'withheld',
              true,
            ])
          }
        }
      }),
    )
  })

  test('no id means what is in no list and something else', () => {
    fc.assert(
      fc.property(catalogs, fc.array(name, { minLength: 1, maxLength: 4 }), (catalog, names) => {
        const found = bound(catalog).find(names.join('/'))

        const unlisted = found.filter(({ skill }) => skill.standing === 'unlisted')
        expect(unlisted.length === 0 || found.length === 1).toBe(true)
      }),
    )
  })
})

function bound(catalog: Catalog) {
  const offered = offeredIn(catalog)
  return { listed: offered.listed, find: (id: string): readonly Offered[] => offered.find(id) }
}

function skillFrom({ path, standing, name }: Pick<Skill, 'path' | 'standing' | 'name'>): Skill {
  const said = { name, description: undefined, frontmatter: undefined, findings: [] }
  return { path, servedPath: undefined, standing, ...said, files: [], size: 0, digest: '0'.repeat(64) }
}
