import { expect, test } from 'vitest'
import { runNow } from '../../../../../src/base/async/cooperative.ts'
import { changingSynthetics } from '../../../../../src/serve/mcp/resources/derived/derived-resources.ts'
import { manifestText, manifestUriOf, INDEX_URI } from '../../../../../src/serve/mcp/resources/derived/synthetics.ts'
import type { CatalogSkill } from '../../../../../src/sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../../../src/sync/catalog/catalog.ts'
import { diff } from '../../../../../src/sync/catalog/changes.ts'
import { filesOf } from '../../../../../src/sync/catalog/skill-files.ts'
import { formsOf } from '../../../../support/clients/forms.ts'
import { skillText } from '../../../../support/git/scripted-upstream.ts'
import { lawRuns } from '../../../../support/law-runs.ts'
import { catalogOf, holdsForCatalogs } from '../../../../sync/catalog/catalogs.ts'
import { surveyed } from '../../../../sync/survey/surveyed.ts'

test('index, manifests and archives are told exactly where their bytes are others, whatever the repository', async () => {
  const pairs: (readonly [Catalog, Catalog])[] = []
  await holdsForCatalogs(60, (catalogs) => {
    for (const [index, after] of catalogs.entries()) pairs.push([catalogs.at(index - 1)!, after])
  })
  const forms = formsOf({ archives: ['zip'] })

  for (const [before, after] of pairs) {
    const [was, is] = await Promise.all([before, after].map(textsOf))
    const uris = new Set([...was!.keys(), ...is!.keys()])
    const changed = [...uris].filter((uri) => was!.get(uri) !== is!.get(uri))
    const step = { before, after, changes: diff(before, after) }
    expect(runNow(changingSynthetics(step, forms)).toSorted()).toEqual(changed.toSorted())
  }
  expect(pairs.length).toBeGreaterThan(lawRuns(60, 1 / 5))
})

test('the manifest of a skill that a rule took out of a skill is told, though no file changed', async () => {
  const files = { 'o/SKILL.md': skillText('o'), 'o/i/SKILL.md': skillText('i') }
  const [before, after] = [catalogOf(await surveyed(files)), catalogOf(await surveyed(files, { exclude: ['o/i'] }))]

  const changes = diff(before, after)

  expect(changes.changed.size + changes.added.size + changes.removed.size).toBe(0)
  expect(runNow(changingSynthetics({ before, after, changes }, formsOf()))).toEqual([
    INDEX_URI,
    'skill://team/o/i/_manifest',
  ])
})

test('nothing is told of a folder that is called now as it was served: all that is said of it is the same', async () => {
  const texts = { 'o/SKILL.md': skillText('o'), 'o/c.md': 'c' }
  const before = catalogOf(await surveyed({ ...texts, 'o/b/SKILL.md': skillText('z') }))
  const after = catalogOf(await surveyed({ ...texts, 'o/z/SKILL.md': skillText('z') }))

  const changes = diff(before, after)

  expect(changes).toMatchObject({ added: new Set(), removed: new Set(), changed: new Set(), list: false })
  expect(runNow(changingSynthetics({ before, after, changes }, formsOf()))).toEqual([])
  expect(await textsOf(after)).toEqual(await textsOf(before))
})

test('an archive is told where the folder of another skill takes its URI by a rule, and where it gives it back', async () => {
  const files = { 'fold/SKILL.md': skillText('fold'), 'fold.zip/inner/SKILL.md': skillText('inner') }
  const hidden = catalogOf(await surveyed(files, { unlisted: ['fold.zip/inner'] }))
  const shown = catalogOf(await surveyed(files))
  const forms = formsOf({ archives: ['zip'] })

  for (const [before, after] of [
    [hidden, shown],
    [shown, hidden],
  ] as const) {
    const changes = diff(before, after)
    expect(changes.changed.size + changes.added.size + changes.removed.size).toBe(0)
    expect(runNow(changingSynthetics({ before, after, changes }, forms))).toContain('skill://team/fold.zip')
  }
})

test('however deep skills lie in one another, each folder above their files is looked at a few times', async () => {
  const folders = Array.from({ length: 20 }, (_, depth) => `${'s/'.repeat(depth)}s`)
  const files = folders.flatMap((folder) => [
    [`${folder}/SKILL.md`, skillText('s')] as const,
    ...Array.from({ length: 20 }, (_, at) => [`${folder}/${at}.txt`, ''] as const),
  ])
  const before = catalogOf(await surveyed({}))
  const after = catalogOf(await surveyed(Object.fromEntries(files)))
  const skills = new CountingMap(after.skills)

  const told = runNow(
    changingSynthetics({ before, after: { ...after, skills }, changes: diff(before, after) }, formsOf()),
  )

  expect(told.length).toBe(1 + folders.length)
  expect(skills.looks).toBeLessThanOrEqual(4 * files.length)
})

class CountingMap<Key, Value> extends Map<Key, Value> {
  looks = 0

  override has(key: Key): boolean {
    this.looks += 1
    return super.has(key)
  }
}

/** What stands for the bytes of all that is made of a catalog: of an archive, what decides them. */
async function textsOf(catalog: Catalog): Promise<ReadonlyMap<string, string>> {
  const skills = [...catalog.skills.values()]
  const manifests = skills.map((skill) => [manifestUriOf(skill), manifestText(skill, '')] as const)
  const archives = new Map(skills.map((skill) => [`${skill.root}.zip`, contentOf(skill)] as const))
  const document = await formsOf().index!.text(catalog, async () => undefined)
  const inDocument = catalog.listed.map(({ root }) => archives.get(`${root}.zip`))
  const isFree = ([uri]: readonly [string, string]): boolean => !catalog.files.has(uri)
  return new Map([[INDEX_URI, JSON.stringify([document, inDocument])], ...[...manifests, ...archives].filter(isFree)])
}

function contentOf(skill: CatalogSkill): string {
  return JSON.stringify(filesOf(skill).map(({ uri, file }) => [uri, file.sha256, file.executable]))
}
