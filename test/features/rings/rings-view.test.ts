import { describe, expect, test } from 'vitest'
import { ringsView } from '../../../src/features/rings/rings-view.ts'
import type { PageRing, PageRingSource } from '../../../src/serve/page/page-data.ts'
import type { PageView } from '../../../src/serve/page/page-view.ts'
import { ReaderPage } from '../../serve/page/reader-page.ts'

const FILES = { 'one/SKILL.md': '---\nname: one\ndescription: About one\n---\ntext\n' }
const NOW = new Date('2026-06-15T10:00:00Z')

describe('the rings on the page', () => {
  const reader = ReaderPage.ofGroup(FILES, {
    config: [
      'rings: [{ id: canary, share: 10% }, { id: stable, min_age: 3d }]',
      'packs: [{ id: docs, include: [{ path: one }] }]',
    ],
  })

  test('have each source, and are linked from the sources', async () => {
    const { status, text } = await reader.get('/rings')

    expect(status).toBe(200)
    expect(text).toMatch(/It gets each commit at once; 10 % .*It takes what the ring before it has had for 3d; 90 %/s)
    expect(text.match(/<bdi>fx<\/bdi>/g)).toHaveLength(2)
    expect((await reader.get('/sources')).text).toContain('href="./rings"')
  })

  test('are not there for a reader of packs', async () => {
    reader.packs = new Set(['docs'])

    expect((await reader.get('/rings')).status).toBe(404)
  })
})

describe('the rings of a hub without rings', () => {
  const reader = ReaderPage.ofGroup(FILES, {})

  test('are no page, and have no link', async () => {
    expect((await reader.get('/rings')).status).toBe(404)
    expect((await reader.get('/sources')).text).not.toContain('/rings"')
  })
})

test('a source with other content comes first, with what it takes next, and what stops that as plain text', () => {
  const stopped = { code: 'held', message: 'release <b>week</b>' }
  const text = pageOf([
    sourceOf({ source: 'a' }),
    sourceOf({
      source: 'b',
      isNewest: false,
      commit: 'b'.repeat(40),
      since: '2026-06-12T10:00:00Z',
      next: 'c'.repeat(40),
      nextAt: '2026-06-15T13:00:00Z',
      stopped,
    }),
    sourceOf({ source: 'c', isNewest: false, commit: undefined }),
    sourceOf({ source: 'd', isNewest: false, commit: undefined, stopped }),
  ])

  expect(rowsIn(text)).toEqual([
    ['b', 'bbbbbbbbbbbb', '3 days ago', 'cccccccccccc in 3 h', 'held release &#60;b&#62;week&#60;/b&#62;'],
    ['c', 'nothing yet', '', '', ''],
    ['d', 'held', '', '', 'held release &#60;b&#62;week&#60;/b&#62;'],
    ['a', 'aaaaaaaaaaaa', 'the newest', '', ''],
  ])
  expect(text).toContain('2 sources stopped')
})

test('a large hub has a bounded table', () => {
  const text = pageOf(Array.from({ length: 1_000 }, (_, at) => sourceOf({ source: `s${at}` })))

  expect(rowsIn(text)).toHaveLength(200)
  expect(text).toContain('800 more')
})

function sourceOf(some: Partial<PageRingSource>): PageRingSource {
  const none = { since: undefined, next: undefined, nextAt: undefined, stopped: undefined }
  return { source: 'a', isNewest: true, commit: 'a'.repeat(40), ...none, ...some }
}

function pageOf(sources: readonly PageRingSource[]): string {
  const ring: PageRing = { id: 'stable', share: 1, minAge: '3d', sources }
  const view: Pick<PageView, 'host' | 'up'> = { host: { now: () => NOW } as PageView['host'], up: './' }
  return ringsView(view, [ring]).content.html
}

function rowsIn(text: string): string[][] {
  return Array.from(text.matchAll(/<tr>\s*(<th scope="row">.*?)<\/tr>/gs), ([, row = '']) =>
    Array.from(row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs), ([, cell = '']) => cell.replaceAll(/<[^>]*>/g, '')),
  )
}
