import { criticalNote } from './skill-notes.ts'
import type { SkillNote } from './skill-notes.ts'

/**
 * The shell commands in the text of a SKILL.md that Claude Code runs when the skill is loaded, before its model reads
 * the result in their place: in backticks after an exclamation mark, and in a fenced block whose language is an
 * exclamation mark. Each once, in the order of the text, a block as one. Claude Code takes only those after a space or at
 * the start of a line; here all count, since other clients may read them otherwise.
 *
 * Source: https://code.claude.com/docs/en/skills, "Inject dynamic context" (as of September 2026).
 */
export function shellCommandsIn(text: string): readonly string[] {
  const found = [...text.matchAll(SHELL)].map(({ groups = {} }) => (groups['block'] ?? groups['inline'] ?? '').trim())
  return [...new Set(found)].filter((command) => command !== '')
}

const SHELL = /^[ \t]*(?<fence>`{3,}|~{3,})!.*\n(?<block>[^]*?)(?:^[ \t]*\k<fence>|$(?![^]))|!`(?<inline>[^`\n]+)`/gm

/** One note about the commands that the former text did not have; none if there are none. */
export function commandNotes(before: string, after: string): readonly SkillNote[] {
  const known = new Set(shellCommandsIn(before))
  const added = shellCommandsIn(after).filter((command) => !known.has(command))
  if (added.length === 0) return []
  const most = added.length > MOST_COMMANDS ? `, of which the first ${MOST_COMMANDS} are` : ''
  const count = added.length === 1 ? 'new shell command' : `${added.length} new shell commands`
  return [criticalNote(`${count} when it is loaded${most}`, added.slice(0, MOST_COMMANDS))]
}

const MOST_COMMANDS = 10
