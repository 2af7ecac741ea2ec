import type { UpstreamNames } from '../../sync/model/skill.ts'

/**
 * The text of a skill of another MCP server, as a model is given it: marked as what it is, and by whom. The text cannot end the
 * mark by itself (SEP-2640: content of servers is untrusted input to a model).
 */
export function asUntrusted(text: string, { source, uri }: UpstreamNames): string {
  const attributes = `source="mcp-server: ${escaped(source)}" uri="${escaped(uri)}"`
  return `<${TAG} ${attributes}>\n${text.replace(MARKS, '&lt;$1')}\n</${TAG}>`
}

const TAG = 'untrusted-skill-content'

const MARKS = /<(\s*\/?\s*untrusted-skill-content)/gi

function escaped(value: string): string {
  return value.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '')
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
