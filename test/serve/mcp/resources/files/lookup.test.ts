import { beforeAll, describe, expect, test } from 'vitest'
import { lookup, lookupSkill } from '../../../../../src/serve/mcp/resources/files/lookup.ts'
import { servedAmong } from '../../../../../src/serve/mcp/resources/find-resource.ts'
import { nearUris } from '../../../../../src/serve/mcp/resources/resources.ts'
import type { Catalog } from '../../../../../src/sync/catalog/catalog.ts'
import { formsOf } from '../../../../support/clients/forms.ts'
import { skillText } from '../../../../support/git/scripted-upstream.ts'
import { catalogOf } from '../../../../sync/catalog/catalogs.ts'
import { surveyed } from '../../../../sync/survey/surveyed.ts'

let catalog: Catalog

beforeAll(async () => {
  const files = {
    'pdf/SKILL.md': skillText('pdf'),
    'pdf/notes/a b.md': 'a, space, b',
    'pdf/notes/a%20b.md': 'a, per cent, 20, b',
    'pdf/in/SKILL.md': skillText('in'),
    'pdf/bad/SKILL.md': '# none',
    'clash/SKILL.md': skillText('pdf'),
    'drafts/SKILL.md': skillText('letters'),
    'hidden/SKILL.md': skillText('hidden'),
    'broken/SKILL.md': '---\nname: broken\n---\n',
    'README.md': 'in no skill',
  }
  catalog = catalogOf(await surveyed(files, { unlisted: ['hidden'] }))
})

function found(raw: string): string {
  const found = lookup(catalog, raw)
  if (found.kind === 'file') return `file ${found.file.file.path}`
  return found.kind === 'folder' ? `folder ${found.children.map(({ name }) => name).join()}` : `nothing: ${found.why}`
}

describe('a URI', () => {
  test.each([
    ['skill://team/pdf/SKILL.md', 'file SKILL.md'],
    ['skill://team/pdf/notes/a%20b.md', 'file notes/a b.md'],
    ['skill://team/pdf/notes/a b.md', 'file notes/a b.md'],
    ['skill://team/pdf/notes/a%2520b.md', 'file notes/a%20b.md'],
    ['skill://team/pdf/notes', 'folder a b.md,a%20b.md'],
    ['skill://team/pdf/notes/', 'folder a b.md,a%20b.md'],
    ['skill://team/hidden', 'folder SKILL.md'],
    ['skill://team', 'folder letters,pdf'],
    ['skill://team/', 'folder letters,pdf'],
  ])('%s stands for one thing', (raw, expected) => {
    expect(found(raw)).toBe(expected)
  })

  test.each([
    ['skill://pdf/SKILL.md', ['skill://team/pdf/SKILL.md']],
    ['skill://pdf/notes/a%20b.md', ['skill://team/pdf/notes/a%20b.md']],
    ['skill://in/SKILL.md', ['skill://team/pdf/in/SKILL.md']],
    ['skill://pdf/in/SKILL.md', ['skill://team/pdf/in/SKILL.md']],
    ['skill://pdf.tar.gz', ['skill://team/pdf/SKILL.md']],
    ['skill://team/pdf.zip', ['skill://team/pdf/SKILL.md']],
    ['skill://drafts/SKILL.md', ['skill://team/letters/SKILL.md']],
    ['skill://nothing.tar.gz', []],
    ['skill://pdf/none.md', []],
    ['skill://pdf', []],
    ['skill://hidden/SKILL.md', []],
    ['skill://broken/SKILL.md', []],
    ['skill://__proto__/SKILL.md', []],
    ['file:///pdf/SKILL.md', []],
  ])('%s, without a source, may mean what is listed of that name', (raw, expected) => {
    expect(nearUris(catalog, raw)).toEqual(expected)
  })

  test.each([
    'skill://team/pdf/SKILL.md/',
    'skill://team/pdf/skill.md',
    'skill://team/PDF/SKILL.md',
    'skill://team/README.md',
    'skill://team/clash/SKILL.md',
    'skill://other/pdf/SKILL.md',
    'skill://__proto__',
    'skill://team/constructor',
    'skill://team/pdf/notes/a%252520b.md',
  ])('%s stands for nothing', (raw) => {
    expect(found(raw)).toMatch(/^nothing: nothing of that URI/)
  })

  test.each([
    'skill://team/pdf/../pdf/SKILL.md',
    'skill://team/pdf/%2e%2e/pdf/SKILL.md',
    'skill://team/pdf%2fSKILL.md',
    '',
  ])('%j is refused for what it is', (raw) => {
    expect(found(raw)).toMatch(/^nothing: (the segment|its scheme)/)
  })

  test('of a skill that is withheld is told why', () => {
    expect(found('skill://team/broken/SKILL.md')).toMatch(/^nothing: the skill is withheld: .*description/)
  })
})

describe('a skill', () => {
  test('is found by the URI of its SKILL.md alone, listed or not, nested or not', () => {
    const name = (raw: string) => Reflect.get(lookupSkill(catalog, raw), 'name')

    expect(name('skill://team/pdf/SKILL.md')).toBe('pdf')
    expect(name('skill://team/pdf/in/SKILL.md')).toBe('in')
    expect(name('skill://team/hidden/SKILL.md')).toBe('hidden')
    expect(name('skill://team/%70df/SKILL%2emd')).toBe('pdf')
  })

  test.each([
    ['skill://team/pdf', 'a folder'],
    ['skill://team/pdf/', 'a folder'],
    ['skill://team/pdf/notes/a%20b.md', 'not the SKILL.md'],
    ['skill://team/pdf/bad/SKILL.md', 'not the SKILL.md'],
    ['skill://team/broken/SKILL.md', 'withheld'],
    ['skill://team/nothing/SKILL.md', 'nothing of that URI'],
    ['skill://team/pdf/SKILL.md?x', 'a query'],
  ])('is not found at %s, with the reason', (raw, why) => {
    expect(lookupSkill(catalog, raw)).toEqual(expect.objectContaining({ why: expect.stringContaining(why) }))
  })
})

test('of many URIs those that are served are told, each as it was written', () => {
  const raws = ['skill://team/pdf/notes/a b.md', 'skill://team/pdf/', 'skill://team/nothing', 'http://x']

  expect([...servedAmong(catalog, formsOf(), raws)]).toEqual([
    ['skill://team/pdf/notes/a b.md', 'skill://team/pdf/notes/a%20b.md'],
    ['skill://team/pdf/', 'skill://team/pdf'],
  ])
})

describe('a URI by the folder of a skill that is served under its name', () => {
  const files = {
    'folder/SKILL.md': skillText('named'),
    'folder/notes/a b.md': 'a',
    'folder/in/SKILL.md': skillText('inner'),
    'folder/in/b.md': 'b',
    'quiet-folder/SKILL.md': skillText('quiet'),
    'lost/SKILL.md': '# none',
  }
  const why = async (raw: string): Promise<unknown> =>
    Reflect.get(lookup(catalogOf(await surveyed(files, { unlisted: ['quiet-folder'] })), raw), 'why')

  test.each([
    ['skill://team/folder/SKILL.md', 'skill://team/named/SKILL.md'],
    ['skill://team/folder', 'skill://team/named'],
    ['skill://team/folder/notes/a%20b.md', 'skill://team/named/notes/a%20b.md'],
    ['skill://team/folder/in/SKILL.md', 'skill://team/named/inner/SKILL.md'],
    ['skill://team/folder/in/b.md', 'skill://team/named/inner/b.md'],
    ['skill://team/named/in/b.md', 'skill://team/named/inner/b.md'],
  ])('%s is not found, and the reason names %s', async (raw, uri) => {
    expect(await why(raw)).toMatch(new RegExp(`^nothing of that URI is served; .*: ${uri}$`))
  })

  test.each([
    'skill://team/folder/none.md',
    'skill://team/named/in/none.md',
    'skill://team/quiet-folder/SKILL.md',
    'skill://team/lost/SKILL.md',
    'skill://other/folder/SKILL.md',
  ])('nothing else is named for %s', async (raw) => {
    expect(await why(raw)).toBe('nothing of that URI is served')
  })
})
