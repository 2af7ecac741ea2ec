import { describe, expect, test } from 'vitest'
import type { PageUses } from '../../../src/serve/page/page-data.ts'
import { ReaderPage } from '../../serve/page/reader-page.ts'

const skill = (name: string): string => `---\nname: ${name}\ndescription: About ${name}\n---\ntext\n`
const FILES = Object.fromEntries(
  ['a/one', 'a/two', 'b/three', 'b/four', 'secret/quiet'].map((path) => [
    `${path}/SKILL.md`,
    skill(path.split('/')[1] ?? ''),
  ]),
)

const USES: PageUses = {
  days: 30,
  from: '2026-05-17',
  since: '2026-06-01',
  skills: new Map([
    ['fx/a/one', { loads: 2, reads: 9, failures: 4, last: '2026-06-14' }],
    ['fx/b/three', { loads: 5, reads: 0, failures: 0, last: '2026-06-10' }],
    ['fx/gone', { loads: 7, reads: 7, failures: 0, last: '2026-06-15' }],
    ['fx/secret/quiet', { loads: 7, reads: 7, failures: 0, last: '2026-06-15' }],
  ]),
  lists: [
    { packs: undefined, lists: 100 },
    { packs: ['small', 'large'], lists: 20 },
    { packs: ['large'], lists: 3 },
    { packs: ['none'], lists: 1_000 },
  ],
}

describe('the use of skills on the page', () => {
  const reader = ReaderPage.ofGroup(FILES, {
    config: ['packs: [{ id: small, include: [{ path: a/one }] }, { id: large, include: [{ path: a/* }] }]'],
    uses: async () => USES,
  })
  const page = async (query = '') => reader.get(`/usage${query}`)
  const rowsIn = (text: string): string[][] =>
    Array.from(text.matchAll(/<tr> (<th scope="row">.*?)<\/tr>/g), ([, row = '']) =>
      Array.from(row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g), ([, cell = '']) => cell.replaceAll(/<[^>]*>/g, '')),
    )

  test('has each used skill with the lists of its views, and the skills that no client used', async () => {
    const { text } = await page()

    expect(rowsIn(text)).toEqual([
      ['fx/b/three', '100', '5', '0', '0', '2026-06-10'],
      ['fx/a/one', '123', '2', '9', '4', '2026-06-14'],
    ])
    const [, unused = ''] = text.split('Unused skills')
    expect(Array.from(unused.matchAll(/<bdi>([^<]*)<\/bdi>/g), ([, name]) => name)).toEqual(['fx/a/two', 'fx/b/four'])
    expect(text).toContain('Counting began on 2026-06-01.')
    expect(text).not.toMatch(/fx\/(?:gone|secret)/)
  })

  test.each([
    ['loads', 'descending', 'fx/b/three'],
    ['reads', 'descending', 'fx/a/one'],
    ['failures', 'descending', 'fx/a/one'],
    ['lists', 'descending', 'fx/a/one'],
    ['last', 'descending', 'fx/a/one'],
    ['skill', 'ascending', 'fx/a/one'],
    ['nothing', 'descending', 'fx/b/three'],
  ])('by %s begins with the right skill, and says the order', async (by, order, first) => {
    const { text } = await page(`?by=${by}`)

    expect(rowsIn(text)[0]?.[0]).toBe(first)
    expect(text.match(/aria-sort="\w+"/g)).toEqual([`aria-sort="${order}"`])
  })

  test('is not there for a reader of packs', async () => {
    reader.packs = new Set(['large'])

    const { status, text } = await page()

    expect(status).toBe(404)
    expect(text).not.toContain('2026-06')
    expect((await reader.get('/')).text).not.toContain('"usage"')
  })
})
