import { describe, expect, test } from 'vitest'
import { Repository } from '../../../support/git/repository.ts'
import { serve } from '../../../support/served.ts'
import { ask } from '../../http/ask.ts'
import { ReaderPage } from '../reader-page.ts'

const skill = (name: string, description: string): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\nthe text of ${name}\n`

const long = (about: string): string => `About ${about} ${'and what is known of it '.repeat(25)}`.trim()
const NAMES = Array.from({ length: 14 }, (_, index) => `skill-${index + 10}`)

const FILES = {
  ...Object.fromEntries(NAMES.map((name) => [`a/${name}/SKILL.md`, skill(name, long(name))])),
  'b/small/SKILL.md': skill('small', 'Does a small thing. Use when a small thing is due.'),
  'b/tiny/SKILL.md': skill('tiny', 'Does a small thing. Use when a small thing is due.'),
  'secret/quiet/SKILL.md': skill('quiet', long('quiet')),
}

describe('the context budget on the page', () => {
  const reader = ReaderPage.ofGroup(FILES, {
    config: ['packs: [{ id: small, include: [{ path: b/* }], budget: 500 }, { id: large, include: [{ path: a/* }] }]'],
  })
  const page = async (): Promise<string> => (await reader.get('/budget')).text

  test('has the figures of all skills and of each pack, and the skills that lose their description', async () => {
    const text = await page()

    expect(text).toContain('<h2>All skills</h2>')
    expect(text).toMatch(/<span class="warn">\d+ of 1923 characters<\/span>, about \d+ tokens/)
    expect(text).toMatch(/<bdi>fx\/a\/skill-23<\/bdi>: its description \(\d+ characters\) is dropped/)
    expect(text).toMatch(/<dt>codex, default model<\/dt>\s*<dd>\s*<span class="good">\d+ of 9568 tokens/)
    expect(text).toMatch(
      /<h2>Pack small<\/h2>\s*<p class="quiet small">\s*2 skills, with a limit that holds commits\s*<\/p>/,
    )
    expect(text).toMatch(/<span class="good">\d+ of 500 characters<\/span>/)
    expect(text).toContain('overlap: fx/b/small and fx/b/tiny share 100 % of their words')
    expect(text).not.toContain('quiet</bdi>')
  })

  test('has for a reader of a pack the skills of that pack alone, and no limit of it', async () => {
    reader.packs = new Set(['small'])

    const text = await page()

    expect(text).toMatch(/<h2>All skills<\/h2>\s*<p class="quiet small">\s*2 skills\s*<\/p>/)
    expect(text).not.toMatch(/Pack |skill-10|of 500/)
  })
})

test('names the command where all skills and those of the packs are together too many to search', async () => {
  await using repository = await Repository.create()
  const names = Array.from({ length: 201 }, (_, index) => `skill-${index}`)
  await repository.commit(Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skill(name, `About ${name}`)])))
  const textOf = async (packs: number): Promise<string> => {
    const entries = Array.from({ length: packs }, (_, index) => `{ id: p${index}, include: [{ path: '**' }] }`)
    await using served = await serve(repository, { config: [`packs: [${entries.join(', ')}]`] })
    return (await ask(served.http.url, '/budget')).text.replaceAll(/\s+/g, ' ')
  }

  expect(await textOf(8)).toContain('<h2>Pack p7</h2>')
  const text = await textOf(9)
  expect(text).toContain('All skills and those of each pack are together more than 2000')
  expect(text).not.toContain('<h2>')
})
