import { Buffer } from 'node:buffer'

/** Text of a Markdown file that its rendered page does not show. */
export interface Unrendered {
  readonly what: 'comment' | 'image text'
  /** Where it begins, from 1. */
  readonly line: number
  readonly characters: number
}

/** What fits in less is a marker for tools, such as `prettier-ignore`; an instruction takes more words. */
const SHORT_CHARACTERS = 40

/** HTML comments, and the alternative texts and titles of images, that are long enough to tell a model what to do. */
export function unrenderedIn(document: Uint8Array): Unrendered[] {
  const bytes = Buffer.from(document.buffer, document.byteOffset, document.byteLength)
  if (!bytes.includes('<!--') && !bytes.includes('![')) return []
  const text = bytes.toString('utf8')
  return [...comments(text), ...imageTexts(text)].slice(0, MOST).toSorted((a, b) => a.line - b.line)
}

const MOST = 16

function* comments(text: string): Generator<Unrendered> {
  for (let at = text.indexOf('<!--'); at !== -1; at = text.indexOf('<!--', at)) {
    const close = text.indexOf('-->', at + 4)
    // One that is not closed hides all that follows.
    const end = close === -1 ? text.length : close
    const characters = text.slice(at + 4, end).trim().length
    if (characters >= SHORT_CHARACTERS) yield { what: 'comment', line: lineOf(text, at), characters }
    at = end
  }
}

function* imageTexts(text: string): Generator<Unrendered> {
  for (const { index, groups } of text.matchAll(IMAGE)) {
    const longest = Math.max(...[groups?.['alt'], groups?.['title']].map((said) => (said ?? '').trim().length))
    if (longest >= LONG_IMAGE_TEXT) yield { what: 'image text', line: lineOf(text, index), characters: longest }
  }
}

/** A good alternative text is a sentence. */
const LONG_IMAGE_TEXT = 150

/** Bounded in each part, so that no text makes the search long. */
const IMAGE = /!\[(?<alt>[^\]]{0,2000})\]\([^)\s]{0,2000}(?:\s{1,8}["'](?<title>[^"']{0,2000})["'])?/g

function lineOf(text: string, at: number): number {
  let line = 1
  for (let feed = text.indexOf('\n'); feed !== -1 && feed < at; feed = text.indexOf('\n', feed + 1)) line += 1
  return line
}
