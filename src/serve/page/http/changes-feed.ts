import { changesText } from '../../../sync/model/changes/skill-changes.ts'
import { movesOf, UNREADABLE } from '../changes-view.ts'
import { escapedText, html, isolateText, plainText } from '../html.ts'
import type { Html } from '../html.ts'
import type { PageBody } from '../layout.ts'
import type { PageDecision, PageGeneration } from '../page-data.ts'
import type { PageView } from '../page-view.ts'

/** An Atom feed (RFC 4287), as text. */
export interface Feed {
  readonly feed: string
}

/** Renders the latest generations, and for readers who may know them the decisions, newest first. */
export async function changesFeed({ address, host }: PageView, name: string): Promise<Feed | PageBody> {
  const moments = await host.history()
  if (moments === undefined) return UNREADABLE
  const entries = [...moments.flatMap(generationEntry), ...host.decisions().map(decisionEntry)].toSorted((a, b) =>
    a.at < b.at ? 1 : -1,
  )
  const authority = new URL(address).hostname.replaceAll(/[^\w.-]/g, '')
  const idOf = ({ at, id }: Pick<FeedEntry, 'at' | 'id'>): string => `tag:${authority},${at.slice(0, 10)}:${id}`
  const texts: string[] = []
  let left = MOST_CHARACTERS
  for (const entry of entries) {
    const text = entryText(entry, idOf(entry), address)
    left -= text.length
    if (left < 0) break
    texts.push(text)
  }
  const whole = [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    element('id', `${address}/changes.atom`),
    element('title', `Changes · ${name}`),
    element('updated', entries[0]?.at ?? new Date(0).toISOString()),
    `<author>${element('name', name)}</author>`,
    `<link rel="self" href="${escapedText(address)}/changes.atom"/>`,
    `<link rel="alternate" type="text/html" href="${escapedText(address)}/changes"/>`,
    ...texts,
    '</feed>\n',
  ].join('\n')
  return { feed: whole.toWellFormed().replaceAll(NOT_XML, '\uFFFD') }
}

interface FeedEntry {
  readonly at: string
  /** Names it for ever, together with the day. */
  readonly id: string
  readonly title: string
  /** Relative to the root. */
  readonly link: string
  readonly content: Html
}

/** A damaged generation has no time, and no entry. */
function generationEntry({ generation, createdAt, before, moves, cause }: PageGeneration): FeedEntry[] {
  if (createdAt === undefined) return []
  const changes = (moves ?? []).map((move) => `${move.source}: ${changesText(move.changes) || 'no skill changed'}`)
  const content = html`<p>${cause}</p>
    ${movesOf({ moves })}`
  const link = before === undefined ? 'changes' : `changes?from=${before}&to=${generation}`
  const title = [`Generation ${generation}`, ...(changes.length === 0 ? [] : [changes.join('; ')])].join(': ')
  return [{ at: createdAt, id: `generation/${generation}/${createdAt}`, title, link, content }]
}

function decisionEntry({ at, id, text }: PageDecision): FeedEntry {
  return { at, id: `decision/${id}`, title: text, link: 'changes', content: html`<p>${isolateText(text)}</p>` }
}

function entryText({ at, title, link, content }: FeedEntry, id: string, address: string): string {
  const short = title.length > MOST_OF_TITLE ? `${title.slice(0, MOST_OF_TITLE)}…` : title
  return [
    '<entry>',
    element('id', id),
    element('title', short),
    element('updated', at),
    `<link rel="alternate" type="text/html" href="${escapedText(`${address}/${link}`)}"/>`,
    `<content type="html">${escapedText(content.html)}</content>`,
    '</entry>',
  ].join('\n')
}

/** `name`: without attributes. */
function element(name: string, text: string): string {
  return `<${name}>${escapedText(plainText(text.toWellFormed()))}</${name}>`
}

/** Characters that XML 1.0 does not have, in any form. */
// oxlint-disable-next-line no-control-regex -- it names the characters that XML has
const NOT_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu

const MOST_OF_TITLE = 200
/** Readers take much less. */
const MOST_CHARACTERS = 2 ** 20
