/**
 * The tools that an `allowed-tools` text names: separated by whitespace and by commas outside of parentheses, as in
 * Claude Code. `Bash(git add:*) Read` is two tools.
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

/** True if the tool can be read back unchanged from a text with other tools. */
export function isOneTool(tool: string): boolean {
  const [found, next] = toolsIn(`${tool} next`)
  return found === tool && next === 'next'
}
