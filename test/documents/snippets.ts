import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** One example of the documents for users. */
export interface Snippet {
  /** The path of the document and the line of the example. */
  readonly place: string
  /** The language of a fenced block; `span` for code within a sentence. */
  readonly language: string
  /** Without the indentation that all lines have. */
  readonly text: string
}

/** All examples in the README and the pages for users. */
async function snippets(): Promise<readonly Snippet[]> {
  const names = (await readdir(join(ROOT, 'docs'))).filter((name) => name.endsWith('.md'))
  const pages = names.map((name) => join('docs', name))
  const paths = ['README.md', 'systemd/README.md', ...pages]
  const found = await Promise.all(paths.map(async (path) => snippetsIn(path, await readFile(join(ROOT, path), 'utf8'))))
  return found.flat()
}

export function snippetsIn(path: string, text: string): Snippet[] {
  const lineAt = (index: number): number => text.slice(0, index).split('\n').length
  const blocks = [...text.matchAll(/^( *)```(\w*)\n(.*?)^\1```$/gms)]
  const spans = [...withoutBlocks(text).matchAll(/(?<!`)`([^`]+)`(?!`)/g)]
  return [
    ...blocks.map(({ index, 2: language = '', 3: block = '' }) => ({
      place: `${path}:${lineAt(index)}`,
      language,
      text: unindented(block),
    })),
    ...spans.map(({ index, 1: span = '' }) => ({
      place: `${path}:${lineAt(index)}`,
      language: 'span',
      text: span.replaceAll(/\s+/g, ' ').replaceAll(String.raw`\|`, '|'),
    })),
  ]
}

/** Blanked out, so that lines keep their numbers. */
function withoutBlocks(text: string): string {
  return text.replaceAll(/^( *)```.*?^\1```$/gms, (block) => block.replaceAll(/[^\n]/g, ' '))
}

function unindented(block: string): string {
  const lines = block.split('\n')
  const depths = lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/))
  return lines.map((line) => line.slice(Math.min(...depths))).join('\n')
}

const ALL = await snippets()

/** The fenced blocks of a language; the code within sentences for `span`. */
export function blocks(language: string): readonly Snippet[] {
  return ALL.filter((snippet) => snippet.language === language)
}
