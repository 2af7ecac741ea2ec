/**
 * The tools that `allowed-tools` names as a text: parted by blanks and by commas that stand in no parentheses, as Claude Code
 * parts them. `Bash(git add:*) Read` is two.
 */
export function toolsIn(text: string): string[] {
  const tools: string[] = []
  let depth = 0
  let tool = ''
  for (const character of text) {
    if (depth === 0 && PARTING.test(character)) {
      if (tool !== '') tools.push(tool)
      tool = ''
      continue
    }
    if (character === '(') depth += 1
    if (character === ')' && depth > 0) depth -= 1
    tool += character
  }
  return tool === '' ? tools : [...tools, tool]
}

const PARTING = /[\s,]/

/** Whether a tool, written between others, is found again as it is. */
export function isOneTool(tool: string): boolean {
  const [found, next] = toolsIn(`${tool} next`)
  return found === tool && next === 'next'
}
