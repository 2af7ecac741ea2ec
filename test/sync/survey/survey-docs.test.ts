import { expect, test } from 'vitest'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import { DOCS_LIMITS } from '../../../src/sync/survey/survey-docs.ts'
import { blobId, skillText, treeId, type Files } from '../../support/git/scripted-upstream.ts'
import { Surveys, noted, rulesWith, surveyed } from './surveyed.ts'

const SKILL = { 'skills/pdf/SKILL.md': skillText('pdf') }
const RULES = { root: 'skills', docs: 'docs' }

test('the docs are the Markdown files below the folder, wherever the root is, skills among them', async () => {
  const files = {
    ...SKILL,
    'docs/usage.md': 'use',
    'docs/skills/pdf/SKILL.md': skillText('pdf'),
    'docs/deep/er/index.md': 'deep',
    'docs/note.txt': 'no',
    'docs/image.png': 'no',
    'README.md': 'no',
    'docs-old/x.md': 'no',
  }

  const { docs, skills } = await surveyed(files, RULES)

  expect(pathsOf({ docs })).toEqual(['deep/er/index.md', 'skills/pdf/SKILL.md', 'usage.md'])
  expect(docs).toMatchObject({ kind: 'docs', size: 7 + skillText('pdf').length })
  expect(docs?.digest).toMatch(/^[0-9a-f]{64}$/)
  expect(skills.map(({ path }) => path)).toEqual(['pdf'])
})

test('the folder may be the whole repository, contain the root, or lie in a skill', async () => {
  const files = { 'a/b/SKILL.md': skillText('b'), 'a/b/references/r.md': 'r', 'README.md': 'read' }

  for (const [docs, paths] of [
    ['', ['README.md', 'a/b/SKILL.md', 'a/b/references/r.md']],
    ['a', ['b/SKILL.md', 'b/references/r.md']],
    ['a/b/references', ['r.md']],
  ] as const) {
    const found = await surveyed(files, { root: 'a', docs })

    expect(pathsOf(found)).toEqual(paths)
    expect(found.skills.map(({ standing }) => standing)).toEqual(['served'])
  }
})

test('a source without the key has no docs and says nothing of them', async () => {
  const found = await surveyed({ ...SKILL, 'docs/a.md': 'a' }, { root: 'skills' })

  expect([found.docs, found.docsFolder]).toEqual([undefined, undefined])
})

test.each<readonly [string, Files]>([
  ['is not there', {}],
  ['is a file', { docs: 'text' }],
  ['is a link out of the repository', { docs: { link: '../other' }, 'other/a.md': 'a' }],
  ['is a link to nothing', { docs: { link: 'gone' } }],
])('a docs folder that %s is a finding, and the skills are served', async (_, files) => {
  const found = await surveyed({ ...SKILL, ...files }, RULES)

  expect(found.docs).toBeUndefined()
  expect(noted(found.docsFolder?.findings ?? [])).toEqual(['docs-missing docs'])
  expect(found.skills.map(({ standing }) => standing)).toEqual(['served'])
})

test('what cannot be served is left out and named, and hides no neighbour', async () => {
  const hidden = 'a\u{e0041}b'
  const files: Files = {
    ...SKILL,
    'docs/good.md': 'good',
    'docs/alias.md': { link: 'deep/real.md' },
    'docs/deep/real.md': 'real',
    'docs/out.md': { link: '../skills/pdf/SKILL.md' },
    'docs/absolute.md': { link: '/etc/passwd' },
    'docs/folder.md': { link: 'deep' },
    'docs/loop.md': { link: 'loop.md' },
    'docs/picture.png': { link: '../skills' },
    'docs/sub': { submodule: '5ab0'.repeat(10) },
    'docs/Readme.MD': 'upper',
    'docs/back\\slash.md': 'x',
    'docs/.md': 'x',
    'docs/deep/.md': 'x',
    'docs/two\nlines.md': 'x',
    'docs/next\u0085line/a.md': 'x',
    'docs/..md': 'x',
    'docs/100% #?.md': 'x',
    'docs/lfs.md': 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n',
    'docs/hidden.md': hidden,
    'docs/Twin.md': 'one',
    'docs/twin.md': 'two',
    'docs/Fold/a.md': 'one',
    'docs/fold/b.md': 'two',
    'docs/run.md': { executable: 'run' },
  }

  const found = await surveyed(files, { ...RULES, hiddenUnicode: 'withhold' })

  expect(pathsOf(found)).toEqual([
    '..md',
    '100% #?.md',
    'Fold/a.md',
    'Twin.md',
    'alias.md',
    'deep/real.md',
    'good.md',
    'run.md',
  ])
  expect(noted(found.docsFolder?.findings ?? [])).toEqual([
    'path-refused docs/.md',
    'file-name-case docs/Readme.MD',
    'link-refused docs/absolute.md',
    'path-refused docs/back\\slash.md',
    'path-refused docs/deep/.md',
    'path-collision docs/fold/b.md',
    'link-refused docs/folder.md',
    'hidden-unicode docs/hidden.md',
    'lfs-pointer docs/lfs.md',
    'link-refused docs/loop.md',
    'path-refused docs/next\u0085line/a.md',
    'link-refused docs/out.md',
    'submodule docs/sub',
    'path-collision docs/twin.md',
    'path-refused docs/two\nlines.md',
  ])
  expect(found.docsFolder?.findings.find(({ path }) => path === 'docs/out.md')?.message).toContain(
    'it leads out of the docs folder',
  )
  const messageAt = (at: string): string | undefined =>
    found.docsFolder?.findings.find(({ path }) => path === at)?.message
  expect(messageAt('docs/twin.md')).toContain('"Twin.md"')
  for (const at of ['docs/twin.md', 'docs/fold/b.md']) expect(messageAt(at)).toContain('is not served; rename it')
  expect(found.docs?.files.find(({ path }) => path === 'alias.md')).toMatchObject({
    link: true,
    target: 'deep/real.md',
    blob: blobId('real'),
  })
  const lenient = await surveyed(files, { ...RULES, lfs: 'pointers' })
  expect(pathsOf(lenient)).toEqual(expect.arrayContaining(['hidden.md', 'lfs.md']))
  expect(noted(lenient.docsFolder?.findings ?? [])).toContain('hidden-unicode docs/hidden.md')
})

test('a link keeps what it leads to in the end, from the docs folder on; no other file does', async () => {
  const files: Files = {
    ...SKILL,
    'docs/a.md': { link: 'deep/b.md' },
    'docs/deep/b.md': { link: '../text/c.txt' },
    'docs/text/c.txt': 'c',
    'docs/plain.md': 'plain',
  }

  const [inDocs, inAll] = [await surveyed(files, RULES), await surveyed(files, { ...RULES, docs: '' })]

  expect(inDocs.docs?.files.map(({ path, target }) => [path, target])).toEqual([
    ['a.md', 'text/c.txt'],
    ['deep/b.md', 'text/c.txt'],
    ['plain.md', undefined],
  ])
  expect(inAll.docs?.files.find(({ path }) => path === 'docs/a.md')?.target).toBe('docs/text/c.txt')
})

test('more files or bytes than the limit withhold the docs whole, with the figure, and nothing else', async () => {
  const many = Object.fromEntries(Array.from({ length: DOCS_LIMITS.files + 1 }, (_, n) => [`docs/${n}.md`, 'x']))
  const large = Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`docs/${n}.md`, 'x'.repeat(2 ** 24)]))
  const { 'docs/0.md': _one, ...most } = many
  await using surveys = await Surveys.open()

  const ofMany = await surveys.next({ ...SKILL, ...many }, rulesWith(RULES))
  const asked = surveys.upstream.taken.length
  const ofLarge = await surveyed({ ...SKILL, ...large }, RULES)

  expect([ofMany.docs, ofLarge.docs]).toEqual([undefined, undefined])
  expect(ofMany.docsFolder?.findings).toMatchObject([{ rule: 'limit-files', path: 'docs' }])
  expect(ofMany.docsFolder?.findings[0]?.message).toContain('5000')
  expect(ofLarge.docsFolder?.findings).toMatchObject([{ rule: 'limit-bytes', path: 'docs' }])
  expect(ofLarge.docsFolder?.findings[0]?.message).toContain('67108864')
  // Only the skill's blob: what is too much is not downloaded to be refused.
  expect(asked).toBe(1)
  for (const { skills } of [ofMany, ofLarge]) expect(skills).toHaveLength(1)
  expect((await surveyed({ ...SKILL, ...most }, RULES)).docs?.files).toHaveLength(DOCS_LIMITS.files)
})

test('an update of one doc takes that blob alone, and lists no folder beside the docs', async () => {
  const files = { ...SKILL, 'docs/a.md': 'a', 'docs/b/c.md': 'c', 'docs/skills/xls/SKILL.md': skillText('xls') }
  await using surveys = await Surveys.open()
  await surveys.next(files, rulesWith(RULES))
  const { upstream } = surveys
  const [listed, taken] = [upstream.listed.length, upstream.taken.length]

  const next = await surveys.next({ ...files, 'docs/b/c.md': 'new' }, rulesWith(RULES))

  expect(upstream.taken.slice(taken)).toEqual([blobId('new')])
  expect(upstream.counts.fetch).toBe(2)
  expect(upstream.listed.slice(listed)).not.toContain(treeId(files, 'skills/pdf'))
  expect(pathsOf(next)).toEqual(['a.md', 'b/c.md', 'skills/xls/SKILL.md'])
})

test('docs that are as they were are not looked at again, what was left out included', async () => {
  const lfs = 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n'
  const files = { ...SKILL, 'docs/a.md': 'a', 'docs/l.md': { link: 'a.md' }, 'docs/lfs.md': lfs }
  await using surveys = await Surveys.open()
  const before = await surveys.next(files, rulesWith(RULES))
  const taken = surveys.upstream.taken.length

  const after = await surveys.next({ ...files, 'skills/pdf/new.md': 'new' }, rulesWith(RULES))

  expect(surveys.upstream.taken.slice(taken)).toEqual([blobId('new')])
  expect([after.docs, after.docsFolder]).toEqual([before.docs, before.docsFolder])
})

test('a skill that moves out of the docs, and a doc that moves out of a skill, bring no blob again', async () => {
  await using surveys = await Surveys.open()
  const text = skillText('pdf')
  await surveys.next({ 'docs/x.md': text, 'skills/pdf/SKILL.md': text, 'skills/pdf/r.md': 'r' }, rulesWith(RULES))
  const taken = surveys.upstream.taken.length

  const { docs, skills } = await surveys.next(
    { 'docs/r.md': 'r', 'skills/new/SKILL.md': text, 'skills/pdf/SKILL.md': text },
    rulesWith(RULES),
  )

  expect(surveys.upstream.taken.slice(taken)).toEqual([])
  expect(pathsOf({ docs })).toEqual(['r.md'])
  expect(skills).toHaveLength(2)
})

function pathsOf({ docs }: { readonly docs?: Snapshot['docs'] }): string[] {
  return docs?.files.map(({ path }) => path) ?? []
}
