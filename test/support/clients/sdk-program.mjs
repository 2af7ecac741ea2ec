import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, watch } from 'node:fs'
import { join } from 'node:path'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'

// The skills of a folder by the 1.x SDK's own means, on standard input and output: each file is a resource, beside an index of
// the first kind that had digests. It declares no extension, and tells when something in the folder changed.
const [folder] = process.argv.slice(2)
const server = new McpServer({ name: 'sdk', version: '1' })
const textOf = (path) => readFileSync(join(folder, path), 'utf8')
const digest = (path) => `sha256:${createHash('sha256').update(textOf(path)).digest('hex')}`

/** The document must begin with `---`, `name: …` and `description: …`, in that order. */
const frontmatter = (path) => {
  const [, name, description] = /^---\nname: (.+)\ndescription: (.+)\n/.exec(textOf(path))
  return { name, description }
}

const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
const index = () => {
  const documents = paths.filter((path) => path.endsWith('/SKILL.md'))
  const skills = documents.map((path) => {
    const { name, description } = frontmatter(path)
    return { type: 'skill-md', name, description, url: `skill://${path}`, digest: digest(path) }
  })
  return JSON.stringify({ $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json', skills })
}

for (const path of paths) {
  const uri = `skill://${path}`
  server.registerResource(path, uri, { mimeType: 'text/markdown' }, () => ({ contents: [{ uri, text: textOf(path) }] }))
}
server.registerResource('index', 'skill://index.json', { mimeType: 'application/json' }, () => ({
  contents: [{ uri: 'skill://index.json', text: index() }],
}))
watch(folder, { recursive: true }, () => server.sendResourceListChanged())
await server.connect(new StdioServerTransport())
