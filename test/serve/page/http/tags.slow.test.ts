import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Repository } from '../../../support/git/repository.ts'
import { serve } from '../../../support/served.ts'
import type { Served } from '../../../support/served.ts'
import { ask } from '../../http/ask.ts'
import { ReaderPage } from '../reader-page.ts'

const skill = (name: string, fields: string): string =>
  `---\nname: ${name}\ndescription: About ${name}\n${fields}\n---\nthe text of ${name}\n`

const FILES = {
  'a/forms/SKILL.md': skill('forms', 'tags: [PDF, paper]'),
  'a/charts/SKILL.md': skill('charts', 'metadata: { tags: "figures, pdf , m&a" }'),
  'b/charts/SKILL.md': skill('charts', 'metadata: { tags: "figures, pdf , m&a" }'),
  'b/deploy/SKILL.md': skill('deploy', 'metadata:\n  tags:\n    - going-live\n    - 2024'),
  'b/plain/SKILL.md': skill('plain', 'license: MIT'),
  'secret/quiet/SKILL.md': skill('quiet', 'tags: [pdf, internal]'),
}

describe('the tags of the page', () => {
  const reader = ReaderPage.ofGroup(FILES, {
    config: ['packs: [{ id: papers, include: [{ name: forms }] }, { id: some, include: [{ path: a/* }] }]'],
  })
  const page = async (path: string): Promise<string> => (await reader.get(path)).text

  test('are offered with the number of listed skills that have each, copies counted once, in the order of their names', async () => {
    const text = await page('/')

    expect(choicesIn(text)).toEqual([
      'All tags',
      '2024 (1)',
      'figures (1)',
      'going-live (1)',
      'm&#38;a (1)',
      'paper (1)',
      'pdf (2)',
    ])
  })

  test('filter the list, in any case and together with the search, the source, the pack and the order', async () => {
    expect(pathsIn(await page('/?tag=PDF'))).toEqual(['a/charts', 'a/forms'])
    expect(pathsIn(await page('/?tag=m%26a'))).toEqual(['a/charts'])
    expect(pathsIn(await page('/?tag=2024&source=fx'))).toEqual(['b/deploy'])
    expect(pathsIn(await page('/?tag=pdf&source=none'))).toEqual([])
    expect(pathsIn(await page('/?tag=pdf&q=forms'))).toEqual(['a/forms'])
    expect(pathsIn(await page('/?tag=paper&q=deploy'))).toEqual([])
    expect(pathsIn(await page('/?tag=pdf&pack=papers'))).toEqual(['a/forms'])
    expect(pathsIn(await page('/?tag=2024&pack=papers'))).toEqual([])
    expect(pathsIn(await page('/?tag=pdf&sort=name'))).toEqual(['a/charts', 'a/forms'])
    expect(pathsIn(await page('/?tag='))).toHaveLength(4)
  })

  test('that are chosen stay chosen in the form, and the count says of how many skills', async () => {
    const text = await page('/?tag=pdf')

    expect(text).toMatch(/<option value="pdf"\s+selected>pdf \(2\)<\/option>/)
    expect(text).toMatch(/id="count"[^>]*>2 skills \(1 duplicate\), of 4</)
  })

  test('that no listed skill has find nothing, and the page says so', async () => {
    expect(await page('/?tag=internal')).toContain('No skill with the tag <bdi>internal</bdi> is in the list.')
    expect(await page('/?tag=2024&pack=papers')).toContain('No skill of this pack with the tag <bdi>2024</bdi> is in')
    expect(await page('/?tag=paper&q=deploy')).toContain(
      'No skill with the tag <bdi>paper</bdi> has all of these words: <bdi>deploy</bdi>.',
    )
  })

  test('of a skill are links to the skills that have them, except one that only an unlisted skill has', async () => {
    expect(tagsIn(await page('/skills/fx/a/charts/'))).toEqual([
      '<a href="../../../../?tag=figures"><bdi>figures</bdi></a>',
      '<a href="../../../../?tag=pdf"><bdi>pdf</bdi></a>',
      '<a href="../../../../?tag=m%26a"><bdi>m&#38;a</bdi></a>',
    ])
    expect(tagsIn(await page('/skills/fx/secret/quiet/'))).toEqual([
      '<a href="../../../../?tag=pdf"><bdi>pdf</bdi></a>',
      '<bdi>internal</bdi>',
    ])
    expect(await page('/skills/fx/b/plain/')).not.toContain('aria-label="Tags"')
  })

  test('are for a reader of packs those of the skills of these packs alone', async () => {
    reader.packs = new Set(['papers'])

    expect(choicesIn(await page('/'))).toEqual(['All tags', 'paper (1)', 'pdf (1)'])
    expect(await page('/?tag=figures')).toContain('No skill with the tag')
    reader.packs = new Set(['some'])
    expect(choicesIn(await page('/'))).toEqual(['All tags', 'figures (1)', 'm&#38;a (1)', 'paper (1)', 'pdf (2)'])
  })
})

describe('the tags of a hostile skill', () => {
  let repository: Repository
  let served: Served
  beforeAll(async () => {
    repository = await Repository.create()
    const many = Array.from({ length: 6 }, (_, at) => [
      `many/n${at}/SKILL.md`,
      skill(`n${at}`, `tags: [${Array.from({ length: 30 }, (__, tag) => `t${at}-${tag + 10}`).join()}]`),
    ])
    await repository.commit({
      ...Object.fromEntries(many),
      'two/SKILL.md': skill('two', 'tags: [t5-29, shared]'),
      'three/SKILL.md': skill('three', 'tags: [shared]'),
      'wild/SKILL.md': skill(
        'wild',
        `tags: ${JSON.stringify([
          '"><script>alert(1)</script>',
          'zero\u200Bwidth',
          'over\u202Etaken',
          'tag\u{E0041}',
          'new\nline',
          'bell\u0007',
          'c1\u0085',
          'x'.repeat(51),
          'y'.repeat(50),
        ])}`,
      ),
    })
    served = await serve(repository, { source: ['hidden_unicode: note'] })
  })
  afterAll(async () => {
    await served[Symbol.asyncDispose]()
    await repository[Symbol.asyncDispose]()
  })

  test('are text, and none of them that is long or has characters that no reader sees', async () => {
    const text = await textOf(served, '/skills/fx/wild/')
    const found = await textOf(served, `/?tag=${encodeURIComponent('"><script>alert(1)</script>')}`)

    expect(tagsIn(text)).toEqual([
      '<a href="../../../?tag=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E"><bdi>&#34;&#62;&#60;script&#62;alert(1)&#60;/script&#62;</bdi></a>',
      `<a href="../../../?tag=${'y'.repeat(50)}"><bdi>${'y'.repeat(50)}</bdi></a>`,
    ])
    expect(pathsIn(found)).toEqual(['wild'])
    expect(found).not.toContain('<script>alert')
  })

  test('are twenty of one skill and a hundred in the filter at most, and a rarer one that is chosen is among them', async () => {
    const text = await textOf(served, '/')
    const rare = await textOf(served, '/?tag=t5-28')

    expect(tagsIn(await textOf(served, '/skills/fx/many/n0/'))).toHaveLength(20)
    expect(choicesIn(text)).toHaveLength(101)
    expect(choicesIn(text)).toEqual(expect.arrayContaining(['shared (2)', 't5-29 (2)']))
    expect(choicesIn(text)).not.toContain('t5-28 (1)')
    expect(rare).toMatch(/<option value="t5-28"\s+selected>t5-28 \(1\)<\/option>/)
    expect(pathsIn(rare)).toEqual(['many/n5'])
    expect(choicesIn(await textOf(served, '/?tag=t5-30'))).toHaveLength(101)
  })

  test('are kept by the links to the other pages of a list', async () => {
    const skills = Array.from({ length: 51 }, (_, at) => [
      `more/more-${at}/SKILL.md`,
      skill(`more-${at}`, 'tags: [m&a]'),
    ])
    await repository.commit(Object.fromEntries(skills))
    await served.sync()

    const text = await textOf(served, '/?tag=m%26a')

    expect(pathsIn(text)).toHaveLength(50)
    expect(text).toContain('href="./?tag=m%26a&#38;page=2"')
    expect(pathsIn(await textOf(served, '/?tag=m%26a&page=2'))).toHaveLength(1)
  })
})

async function textOf(served: Served, path: string): Promise<string> {
  const { text } = await ask(served.http.url, path)
  return text.replaceAll(/\s+/g, ' ')
}

/** The choices of the filter. */
function choicesIn(text: string): string[] {
  const [, choices = ''] = /<select id="tag" name="tag" form="find">(.*?)<\/select>/.exec(text) ?? []
  return Array.from(choices.matchAll(/<option [^>]*>([^<]*)</g), ([, choice = '']) => choice)
}

/** The paths of the skills in the list. */
function pathsIn(text: string): string[] {
  return Array.from(text.matchAll(/<h2><a href="\.\/skills\/fx\/([^"]+)\/"/g), ([, path = '']) => path)
}

/** The tags on the page of a skill. */
function tagsIn(text: string): string[] {
  const [, tags = ''] = /<ul class="tags" aria-label="Tags">(.*?)<\/ul>/.exec(text) ?? []
  return Array.from(tags.matchAll(/<li>(.*?)<\/li>/g), ([, tag = '']) => tag)
}
