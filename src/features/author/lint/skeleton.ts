/** The description of a skeleton, to be replaced by the author. */
export const PLACEHOLDER = 'Describe here what the skill does. Use when a task needs exactly that.'

const STEPS = `1. Say what the agent does first, as an instruction.
2. Name each further file by its path relative to this one, and say when to read it.`

const RESULT = 'Say how the agent recognizes that the task is done.'

/** The texts of a skeleton that the author replaces. */
export const SKELETON_TEXTS: readonly string[] = [PLACEHOLDER, ...STEPS.split('\n'), RESULT]

/** The SKILL.md of a new skill. JSON is YAML: a quoted description has no other meaning in it, whatever it contains. */
export function skeleton(name: string, description: string): string {
  const title = name.replaceAll('-', ' ').replace(/^./, (letter) => letter.toUpperCase())
  return `---
name: ${name}
description: ${JSON.stringify(description)}
---

# ${title}

## Steps

${STEPS}

## Result

${RESULT}
`
}
