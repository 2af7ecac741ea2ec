import { bodyOf, utf8 } from '../../../../sync/skill/frontmatter.ts'

/** A larger SKILL.md is not read for its headings. */
export const HEADED_BYTES = 2 ** 20

/**
 * Returns the headings of a SKILL.md, one per line; empty if the file is not text. Lines within code fences are never
 * headings.
 */
export function headingsIn(document: Uint8Array): string {
  const text = utf8(bodyOf(document) ?? document)
  if (text === undefined) return ''
  const headings: string[] = []
  let characters = 0
  let fence: string | undefined
  for (const [line] of text.matchAll(MARKED_LINES)) {
    const mark = FENCE.exec(line)?.[1]
    if (fence !== undefined) {
      if (mark !== undefined && mark.startsWith(fence)) fence = undefined
    } else if (mark !== undefined) fence = mark
    else {
      const heading = line
        .replace(/^ {0,3}#+/, '')
        .trim()
        .slice(0, HEADING_CHARACTERS)
      characters += heading.length + 1
      if (characters > MOST_CHARACTERS) break
      headings.push(heading)
    }
  }
  return headings.join('\n')
}

/** Matches lines that are a heading, or that open or close a fence. */
const MARKED_LINES = /^ {0,3}(?:#{1,6}[ \t]|`{3}|~{3}).*$/gm
const FENCE = /^ {0,3}(`{3,}|~{3,})/

const HEADING_CHARACTERS = 200
const MOST_CHARACTERS = 4_096
