import { bodyOf, utf8 } from '../../sync/skill-md/frontmatter.ts'

/** No SKILL.md that is larger is read for its headings. */
export const HEADED_BYTES = 2 ** 20

/** The headings of a SKILL.md, one a line; nothing of one that is no text. Code in fences has none, whatever its lines look like. */
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

/** Those that are a heading, or that open or close a fence. */
const MARKED_LINES = /^ {0,3}(?:#{1,6}[ \t]|`{3}|~{3}).*$/gm
const FENCE = /^ {0,3}(`{3,}|~{3,})/

const HEADING_CHARACTERS = 200
const MOST_CHARACTERS = 4_096
