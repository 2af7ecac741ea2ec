import { describe, expect, test } from 'vitest'
import { unrenderedIn } from '../../../src/sync/survey/unrendered-text.ts'

const HIDDEN = `<!-- ${'do this '.repeat(6)}-->`

function kindsIn(text: string): string[] {
  return unrenderedIn({ text, yaml: undefined, bodyStart: 0 }).map(({ what }) => what)
}

describe('a comment in what a page shows as code', () => {
  test.each([
    ['a fence', `\`\`\`html\n${HIDDEN}\n\`\`\``],
    ['a fence of tildes with a shorter one inside', `~~~~\n~~~\n${HIDDEN}\n~~~~`],
    ['a fence with another kind inside', `\`\`\`\n~~~\n${HIDDEN}\n\`\`\``],
    ['a fence that is not closed', `\`\`\`\n\n${HIDDEN}`],
    ['an indented fence', `   \`\`\`\n${HIDDEN}\n   \`\`\``],
    ['a fence with a mark that is too deep to close it', `\`\`\`\n    \`\`\`\n${HIDDEN}\n\`\`\``],
    ['a fence in a quotation', `> ~~~\n> ${HIDDEN}\n> ~~~`],
    ['a fence in a list', `- a\n\n  \`\`\`\n  ${HIDDEN}\n  \`\`\``],
    ['indented lines', `a\n\n    ${HIDDEN}`],
    ['indented lines in a list', `1. a\n\n       ${HIDDEN}`],
    ['lines indented by a tab', `# a\n\t${HIDDEN}`],
    ['backticks', `a \`\` \` ${HIDDEN} \`\` b`],
  ])('is in sight: %s', (_, text) => {
    expect(kindsIn(text)).toEqual([])
  })

  test.each([
    ['after a fence', `\`\`\`\na\n\`\`\`\n${HIDDEN}`],
    ['after a fence that is closed by a longer one', `\`\`\`\na\n\`\`\`\`\`\n${HIDDEN}`],
    ['after a fence that ends with its quotation', `> \`\`\`\n> a\n\n${HIDDEN}`],
    ['after a fence that ends with its list', `- \`\`\`\n  a\n\n${HIDDEN}`],
    ['after a fence with the mark of a list inside', `\`\`\`\n- \`\`\`\n\`\`\`\n${HIDDEN}`],
    ['after a fence with the mark of a quotation inside', `\`\`\`\n> \`\`\`\n\`\`\`\n${HIDDEN}`],
    ['after a fence with a deep mark inside', `\`\`\`\n    \`\`\`\n\`\`\`\n${HIDDEN}`],
    ['after a fence that other white space does not close', `\`\`\`\n\`\`\`\u00A0\n\`\`\`\n${HIDDEN}`],
    ['in what follows the mark of a fence', `\`\`\` ${HIDDEN}\na\n\`\`\``],
    ['after three backticks and another on one line', `\`\`\` a${' '.repeat(600)}\`\n${HIDDEN}`],
    ['after a comment that is opened in code', `\`<!--\` ${HIDDEN}`],
    ['after returns that end the lines of a fence', `~~~\ra\r~~~\r${HIDDEN}`],
    ['in a list with an empty first line', `-\n  a\n\n    ${HIDDEN}`],
    ['in a list that begins with code', `-      a\n\n    ${HIDDEN}`],
    ['in a list with a quotation', `- a\n\n  > b\n\n    ${HIDDEN}`],
    ['in a list below a tab', `   -\ta\n\n           ${HIDDEN}`],
    ['in a paragraph that goes on', `a\n    ${HIDDEN}`],
    ['in a comment with backticks around it', `<!-- \` --> ${HIDDEN} \``],
    ['between the cells of a table', `| \` | ${HIDDEN} | \` |\n| --- | --- | --- |`],
    ['after an attribute with a backtick', `a <b c="\`"> ${HIDDEN} \``],
    ['after an instruction with a backtick', `a <? \` ?> ${HIDDEN} \``],
    ['after an address with a backtick', `<http:a\`b> ${HIDDEN} \``],
    ['after an address of mail with a backtick', `<a\`b@c.de> ${HIDDEN} \``],
    ['after a title with a backtick', `[a](b "x\`") ${HIDDEN} \``],
    ['after a definition with a backtick', `[a]: b\`\n${HIDDEN} \``],
    ['after an escaped backtick', `\\\` ${HIDDEN} \``],
    ['after a fence deeper than anybody writes', `${'> '.repeat(70)}\`\`\`\n${'> '.repeat(70)}${HIDDEN}`],
    ['in a <pre>', `<pre>\n\n\`\`\`\n${HIDDEN}\n\`\`\`\n</pre>`],
  ])('is in sight, and is not where it stands elsewhere: %s', (_, text) => {
    expect(kindsIn(text)).toHaveLength(1)
  })

  // One that goes back would take hours for these.
  test.each([
    ' ',
    '\t',
    '- ',
    '-',
    '=',
    '*',
    '* ',
    '|',
    '| - ',
    '|-',
    ':',
    '` ',
    '```',
    '~',
    '> ',
    '<',
    '<a@b.',
    '<a b=',
    '[a]: b "',
  ])('is looked for in 100,000 characters of %j, whatever stands around them', (part) => {
    const line = part.repeat(100_000 / part.length)

    for (const around of ['x\n| - ', 'x\n-', '* * *', '===', '```', '~~~', '<!', '<a ', '<a@b', '[a]: b', 'x\n', ''])
      expect(kindsIn(`${around}${line}x\n${line}`).length).toBeLessThan(100_000)
  })
})
