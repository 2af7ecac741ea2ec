import { readFile, readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../src/', import.meta.url))

interface Comment {
  readonly file: string
  readonly text: string
  readonly isDoc: boolean
}

const files = (await readdir(ROOT, { recursive: true })).filter((path) => path.endsWith('.ts'))
const comments = (await Promise.all(files.map(commentsOf))).flat()

test('the test reads the comments of the source', () => {
  expect(comments.filter(({ isDoc }) => isDoc).length).toBeGreaterThan(3000)
  expect(comments.filter(({ isDoc }) => !isDoc).length).toBeGreaterThan(500)
})

test('a doc comment begins with a noun phrase or a verb in the third person', () => {
  const begun = comments.filter(({ text, isDoc }) => isDoc && /^(?:What|Whether|How|Of|Who|Where|That)\b/.test(text))

  expect(begun.map(described)).toEqual([])
})

test('a comment names the agent: the client, the daemon, the operator', () => {
  const unnamed = comments.filter(({ text }) => /\b(?:nobody|somebody|anybody|whoever|whomever)\b/i.test(text))

  expect(unnamed.map(described)).toEqual([])
})

function described({ file, text }: Comment): string {
  return `${file}: ${text.slice(0, 100)}`
}

async function commentsOf(file: string): Promise<Comment[]> {
  const text = await readFile(resolve(ROOT, file), 'utf8')
  // A comment begins a line here, so nothing in a string is taken for one.
  const docs = text.matchAll(/^[ \t]*\/\*\*(.*?)\*\//gms)
  const lines = text.matchAll(/^[ \t]*\/\/(.*(?:\n[ \t]*\/\/.*)*)/gm)
  return [
    ...[...docs].map(([, words = '']) => ({ file, text: plain(words, '*'), isDoc: true })),
    ...[...lines].map(([, words = '']) => ({ file, text: plain(words, '//'), isDoc: false })),
  ]
}

function plain(words: string, mark: string): string {
  const lines = words.split('\n').map((line) => line.trim())
  return lines
    .map((line) => (line.startsWith(mark) ? line.slice(mark.length).trim() : line))
    .join(' ')
    .trim()
}
