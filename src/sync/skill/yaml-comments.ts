import { Lexer } from 'yaml'

/** A YAML comment. Comment lines that follow each other are one comment. */
export interface YamlComment {
  /** The offset in the text at which it begins. */
  readonly start: number
  /** Without the `#` of its lines. */
  readonly text: string
}

/** The comments of a frontmatter. Its values do not contain them, but a model that gets the file reads them. */
export function yamlComments(yaml: string): YamlComment[] {
  if (!yaml.includes('#')) return []
  const runs: { readonly start: number; end: number; readonly lines: string[] }[] = []
  for (const { start, text } of commentMarks(yaml)) {
    const last = runs.at(-1)
    const run =
      last !== undefined && /^\s*$/.test(yaml.slice(last.end, start)) ? last : { start, end: start, lines: [] }
    if (run !== last) runs.push(run)
    run.lines.push(text.slice(1).trim())
    run.end = start + text.length
  }
  return runs.map(({ start, lines }) => ({ start, text: lines.join('\n') }))
}

function* commentMarks(yaml: string): Generator<{ readonly start: number; readonly text: string }> {
  let [at, before] = [0, '']
  for (const mark of new Lexer().lex(yaml)) {
    const isText = before === SCALAR || !CONTROLS.has(mark)
    if (mark.startsWith('#') && before !== SCALAR) yield { start: at, text: mark }
    if (isText) at += mark.length
    before = isText ? '' : mark
  }
}

/** The token that the lexer puts before the text of a scalar, which may begin with any character. */
const SCALAR = '\u001F'

/** The tokens of the lexer that are not text: a document begins, a collection is not closed. */
const CONTROLS: ReadonlySet<string> = new Set([SCALAR, '\u0002', '\u0018'])
