import * as fc from 'fast-check'

/** Texts of what Markdown and git hosts read: fences, HTML, mentions, commands, invisible characters. */
export function hostile(): fc.Arbitrary<string> {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.constantFrom('`', '``', '```', '````', '~~~', '<!--', '-->', '<img src=x>', '@octocat', 'Fixes #1', '/merge'),
    fc.constantFrom('\n', '\r\n', '\r', '\u2028', '\u200B', '\u202E', '\u{E0041}', '\uFE0F', '\u3164', '\\', ' ', '|'),
  )
  return fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''))
}
