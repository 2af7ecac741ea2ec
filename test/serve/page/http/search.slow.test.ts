import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PageUses } from '../../../../src/serve/page/page-data.ts'
import { Repository } from '../../../support/git/repository.ts'
import { serve } from '../../../support/served.ts'
import type { Served } from '../../../support/served.ts'
import { ask } from '../../http/ask.ts'

const skill = (name: string, description: string): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\nbody\n`

const FILES = {
  'a/brainstorming/SKILL.md': skill('brainstorming', 'Explore what a person wants before any plan is made'),
  'a/pdf/SKILL.md': skill('pdf', 'Fill in forms and extract text from documents'),
  'b/review/SKILL.md': skill('review', 'Review one change'),
  'c/review/SKILL.md': skill('review', 'Review a whole release'),
  'c/review/run.sh': '#!/bin/sh\n',
  'd/pdf/SKILL.md': skill('pdf', 'Fill in forms and extract text from documents'),
}

/** One copy of `pdf` was used, and one of the two that are called `review`. */
const uses = async (): Promise<PageUses> => {
  const of = (loads: number) => ({ loads, reads: 1, failures: 0, last: '2026-06-15' })
  const skills = new Map([
    ['fx/c/review', of(2)],
    ['fx/d/pdf', of(40)],
  ])
  return { days: 30, from: '2026-05-17', since: '2026-06-01', skills, lists: [] }
}

describe('the list of the page', () => {
  let repository: Repository
  let served: Served
  beforeAll(async () => {
    repository = await Repository.create()
    await repository.commit(FILES)
    served = await serve(repository, { config: ['packs: [{ id: papers, include: [{ name: pdf }] }]'], uses })
  })
  afterAll(async () => {
    await served[Symbol.asyncDispose]()
    await repository[Symbol.asyncDispose]()
  })

  const namesAt = async (query: string): Promise<string[]> => {
    const { text } = await ask(served.http.url, `/${query}`)
    return Array.from(text.matchAll(/<h2><a href="\.\/skills\/fx\/([^"]+)\/"/g), ([, path = '']) => path)
  }

  test('is searched as the tools are: a typing error and words in another order find the skill', async () => {
    expect(await namesAt('?q=brainstroming')).toEqual(['a/brainstorming'])
    expect((await namesAt('?q=a+pdf+form'))[0]).toBe('a/pdf')
    expect(await namesAt('?q=zzzzzz')).toEqual([])
  })

  test('has a match within a word after the matches of the search', async () => {
    expect(await namesAt('?q=instorm')).toEqual(['a/brainstorming'])
  })

  test('is sorted by name, and narrowed to a pack; a pack that does not exist has no skill', async () => {
    expect(await namesAt('?sort=name')).toEqual(['a/brainstorming', 'a/pdf', 'b/review', 'c/review'])
    expect(await namesAt('?pack=papers')).toEqual(['a/pdf'])
    expect(await namesAt('?pack=nope')).toEqual([])
    expect(await namesAt('?sort=nope')).toHaveLength(4)
  })

  test('is by name without words, and has the most used first, counted at all places of a skill, if it is sorted so', async () => {
    const ordersAt = async (query: string): Promise<string[]> => {
      const { text } = await ask(served.http.url, `/${query}`)
      const [, select = ''] = /<select id="sort"[^>]*>([^]*?)<\/select>/.exec(text) ?? []
      return Array.from(select.matchAll(/>\s*([^<]*?)\s*<\/option>/g), ([, order = '']) => order)
    }

    expect(await namesAt('')).toEqual(['a/brainstorming', 'a/pdf', 'b/review', 'c/review'])
    expect(await namesAt('?sort=uses')).toEqual(['a/pdf', 'c/review', 'a/brainstorming', 'b/review'])
    expect(await ordersAt('')).toEqual(['Name', 'Most used', 'Last change'])
    expect(await ordersAt('?q=pdf')).toEqual(['Best match', 'Name', 'Most used', 'Last change'])
  })

  test('has of each skill what the others have not: its use, programs and packs, and no commit', async () => {
    const { text } = await ask(served.http.url, '/')
    const rows = Array.from(
      text.matchAll(/<div class="facts">([^]*?)<\/div>\s*(?:<div class="facts">[^]*?<\/div>)?\s*<\/li>/g),
      ([, facts = '']) =>
        Array.from(facts.matchAll(/<span[^>]*>([^]*?)<\/span>/g), ([, fact = '']) => fact.replaceAll(/<[^>]*>/g, '')),
    )

    expect(rows).toEqual([
      ['fx'],
      ['fx', '41 uses in 30 days', 'pack papers'],
      ['fx/b/review'],
      ['fx/c/review', '3 uses in 30 days', '1 program'],
    ])
  })

  test('has the path of a skill whose name another one has too, and only then', async () => {
    const { text } = await ask(served.http.url, '/')

    expect(text).toContain('fx/b/review')
    expect(text).toContain('fx/c/review')
    expect(text).not.toContain('<bdi>fx/a/pdf</bdi>')
  })

  test('has the skill that changed last first, if it is sorted so', async () => {
    await repository.commit({ 'a/pdf/SKILL.md': skill('pdf', 'Fill in every form') })
    await served.sync()

    expect((await namesAt('?sort=changed'))[0]).toBe('a/pdf')
  })
})
