import { describe, expect, test } from 'vitest'
import { servedDocs } from '../../../../../src/serve/mcp/resources/contract/contract-docs.ts'
import type { DocsOwner } from '../../../../../src/serve/mcp/resources/contract/contract-docs.ts'
import { buildCatalog } from '../../../../../src/sync/catalog/catalog.ts'
import type { DocFile } from '../../../../../src/sync/model/docs-folder.ts'
import type { Snapshot } from '../../../../../src/sync/model/snapshot.ts'
import { catalogOfWorld } from '../../../../support/content/contract-world.ts'
import type { SkillWorld, SourceWorld } from '../../../../support/content/contract-world.ts'
import { skillText, type Files } from '../../../../support/git/scripted-upstream.ts'
import { sourceId } from '../../../../sync/store/samples.ts'
import { surveyed, type Edited } from '../../../../sync/survey/surveyed.ts'

const AMONG: DocsOwner = { source: sourceId('team'), folder: 'docs', root: 'docs/skills' }

test('the docs are those of their owner, and of nobody who had some before it', () => {
  const catalog = catalogOfWorld({ team: { docs: { 'old.md': 'old' } }, more: { docs: { 'new.md': 'new' } } })
  const ownedBy = (source: string): string[] =>
    servedDocs(catalog, { ...AMONG, source: sourceId(source) }).map(({ file }) => file.path)

  expect(ownedBy('more')).toEqual(['new.md'])
  expect(ownedBy('team')).toEqual(['old.md'])
  expect(ownedBy('gone')).toEqual([])
})

describe('where the docs folder holds skills', () => {
  test('the files of those that are served are documents', () => {
    expect(shown({ skills: [skill('a')], docs: docs('usage.md', 'skills/a/SKILL.md', 'skills/a/r.md') })).toEqual([
      'skills/a/SKILL.md',
      'skills/a/r.md',
      'usage.md',
    ])
  })

  test.each<[string, SourceWorld]>([
    ['is disabled', { skills: [skill('a')], disabled: ['a'] }],
    ['is withheld', { skills: [skill('a', 'withheld')] }],
    ['is taken by no rule', {}],
  ])('no file of one is that %s', (_, team) => {
    const files = docs('skills/SKILLS.md', 'skills/a/SKILL.md', 'skills/a/deep/r.md', 'skills/ab/r.md')

    expect(shown({ ...team, docs: files })).toEqual(['skills/SKILLS.md', 'skills/ab/r.md'])
  })

  test('those of an unlisted one are there for who knows their address', () => {
    const files = docs('usage.md', 'skills/a/SKILL.md', 'skills/a/r.md')

    expect(shown({ skills: [skill('a', 'unlisted')], docs: files })).toEqual([
      '(skills/a/SKILL.md)',
      '(skills/a/r.md)',
      'usage.md',
    ])
  })

  test('a folder outside of the root of the skills is no skill, whatever it holds', () => {
    expect(shown({ docs: docs('templates/SKILL.md', 'templates/r.md') })).toEqual([
      'templates/SKILL.md',
      'templates/r.md',
    ])
  })

  test('a skill inside of another decides about its own files', () => {
    const files = docs('skills/a/in/SKILL.md', 'skills/a/SKILL.md')
    const [outer, inner] = [skill('a'), skill('a/in')]

    expect(shown({ skills: [outer, inner], disabled: ['a/in'], docs: files })).toEqual(['skills/a/SKILL.md'])
    expect(shown({ skills: [outer, inner], disabled: ['a'], docs: files })).toEqual(['skills/a/in/SKILL.md'])
    // Withheld, it is a file of the outer one still.
    expect(shown({ skills: [outer, skill('a/in', 'withheld')], docs: files })).toEqual([
      'skills/a/SKILL.md',
      'skills/a/in/SKILL.md',
    ])
  })
})

describe('where a skill holds the docs folder', () => {
  const around = { ...AMONG, root: '' }
  const [root, files] = [skill(''), docs('usage.md')]

  test('nothing that is wrong with it takes the docs away', () => {
    expect(shown({ skills: [{ ...root, standing: 'withheld' }], docs: files }, around)).toEqual(['usage.md'])
    expect(shown({ skills: [{ ...root, standing: 'unlisted' }], docs: files }, around)).toEqual(['usage.md'])
    expect(shown({ docs: docs('SKILL.md', 'usage.md') }, around)).toEqual(['usage.md'])
  })

  test('a person who disables it does', () => {
    expect(shown({ skills: [root], disabled: [''], docs: files }, around)).toEqual([])
  })
})

describe('where a page is called like the document of a skill', () => {
  const pages = { 'docs/guide/a.md': 'a', 'docs/guide/deep/b.md': 'b' }

  test.each<[string, Files]>([
    ['skill.md', { 'docs/guide/skill.md': '# The skill' }],
    ['skill.md and has a frontmatter', { 'docs/guide/skill.md': '---\ntitle: The skill\n---\n' }],
    ['skill.md and is a link', { 'docs/guide/skill.md': { link: 'a.md' } }],
    ['SKILL.md and has no frontmatter', { 'docs/guide/SKILL.md': '# How to write one' }],
  ])('one that is called %s hides neither itself nor its neighbours', async (_, page) => {
    const [name = ''] = Object.keys(page).map((path) => path.slice('docs/'.length))

    expect((await shownOf({ ...pages, ...page })).toSorted()).toEqual(
      [name, 'guide/a.md', 'guide/deep/b.md'].toSorted(),
    )
  })

  test('one that is a link to nowhere hides none of its neighbours', async () => {
    const files = { ...pages, 'docs/guide/skill.md': { link: '../gone.md' } }

    expect(await shownOf(files)).toEqual(['guide/a.md', 'guide/deep/b.md'])
  })

  test('one whose frontmatter is no longer closed is a skill that is withheld, with all that is its own', async () => {
    const files = { ...pages, 'docs/guide/SKILL.md': '---\nname: guide\n', 'docs/usage.md': 'use' }

    expect(await shownOf(files)).toEqual(['usage.md'])
  })

  test('one that is excluded is hidden, whatever it holds', async () => {
    const files = { ...pages, 'docs/guide/SKILL.md': '# How to write one', 'docs/usage.md': 'use' }

    expect(await shownOf(files, { exclude: ['docs/guide'] })).toEqual(['usage.md'])
  })

  test('one that a person disabled is hidden with its folder, as is one inside of what is hidden', async () => {
    const files = { ...pages, 'docs/guide/skill.md': skillText('guide'), 'docs/usage.md': 'use' }
    const inside = { 'docs/guide/SKILL.md': skillText('guide'), 'docs/guide/deep/skill.md': '# In' }

    expect(await shownOf(files, {}, ['docs/guide'])).toEqual(['usage.md'])
    expect(await shownOf({ ...pages, ...inside }, {}, ['docs/guide'])).toEqual([])
  })
})

describe('a link among the docs', () => {
  const files = {
    'docs/alias.md': { link: 'target.md' },
    'docs/inside.md': { link: 'gone/notes.md' },
    'docs/other.md': { link: 'gone/notes.txt' },
    'docs/target.md': 'same',
    'docs/twice.md': { link: 'inside.md' },
    'docs/gone/SKILL.md': skillText('gone'),
    'docs/gone/notes.md': 'same',
    'docs/gone/notes.txt': 'text',
  }

  test('goes with what it leads to, and not with what has the same bytes', async () => {
    expect(await shownOf(files, {}, ['docs/gone'])).toEqual(['alias.md', 'target.md'])
    expect(await shownOf({ ...files, 'docs/gone/SKILL.md': '---\n' })).toEqual(['alias.md', 'target.md'])
  })

  test('leads where it led, wherever the docs folder lies', async () => {
    expect(await shownOf(files, { docs: '' }, ['docs/gone'])).toEqual(['docs/alias.md', 'docs/target.md'])
    expect(await shownOf(files, { docs: 'docs/gone' }, ['docs/gone'])).toEqual([])
  })

  test('of a snapshot that does not say where it leads goes with the bytes of what is hidden', async () => {
    const snapshot = await surveyed(files, { docs: 'docs' })
    const { docs: told } = snapshot
    const before = { ...snapshot, ...(told && { docs: { ...told, files: told.files.map(untold) } }) }

    expect(shownIn(before, 'docs', [])).toContain('inside.md')
    expect(shownIn(before, 'docs', ['docs/gone'])).toEqual(['other.md', 'target.md'])
  })
})

/** The same as a survey had it that kept nothing of where links lead. */
function untold(file: DocFile): DocFile {
  const { target: _target, ...rest } = file
  return rest
}

/** The paths of what is served of a repository whose docs folder is `docs`, and whose skills may lie anywhere. */
async function shownOf(files: Files, edit: Edited = {}, disabled: readonly string[] = []): Promise<string[]> {
  const asked = { docs: 'docs', ...edit }
  return shownIn(await surveyed(files, asked), asked.docs ?? '', disabled)
}

function shownIn(snapshot: Snapshot, folder: string, disabled: readonly string[]): string[] {
  const { source } = snapshot
  const generation = { number: 1, createdAt: '', sources: [{ source, snapshot: '' }] }
  const catalog = buildCatalog(generation, [snapshot], new Map([[source, new Set(disabled)]]))
  return servedDocs(catalog, { source, folder, root: '' }).map(({ file }) => file.path)
}

/** The paths of what is served; those in no list in brackets. */
function shown(team: SourceWorld, owner = AMONG): string[] {
  const served = servedDocs(catalogOfWorld({ team }), owner)
  return served.map(({ file, isListed }) => (isListed ? file.path : `(${file.path})`))
}

function skill(path: string, standing: SkillWorld['standing'] = 'served'): SkillWorld {
  return { path, id: 'a', standing }
}

function docs(...paths: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(paths.map((path) => [path, path]))
}
