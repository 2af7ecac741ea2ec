import { createHash } from 'node:crypto'
import { createInterface } from 'node:readline'

// What the skills of the PHP SDK's pull request 372 look like to a client, on standard input and output: the second form of the
// index, no sizes, no method of the extension, an error that no client can match with what it asked, and -32002 for what is not
// there, such as a skill that the index still has.
const files = new Map([
  ['skill://refunds/SKILL.md', '---\nname: refunds\ndescription: How to refund\n---\nbody\n'],
  ['skill://refunds/policy.md', 'thirty days\n'],
  ['skill://acme/billing/SKILL.md', '---\nname: billing\ndescription: How to bill\n---\nbody\n'],
])
const digest = (uri) => `sha256:${createHash('sha256').update(files.get(uri)).digest('hex')}`
const entry = (url, name, description) => ({ frontmatter: { name, description }, url, digest: digest(url) })
const index = JSON.stringify({
  skills: [
    entry('skill://refunds/SKILL.md', 'refunds', 'How to refund'),
    entry('skill://acme/billing/SKILL.md', 'billing', 'How to bill'),
    { ...entry('skill://refunds/SKILL.md', 'gone', 'Gone'), url: 'skill://gone/SKILL.md' },
  ],
})
files.set('skill://index.json', index)

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { resources: {}, extensions: { 'io.modelcontextprotocol/skills': [] } },
    serverInfo: { name: 'php', version: '1' },
  }),
  ping: () => ({}),
  'resources/list': () => ({ resources: [...files.keys()].map((uri) => ({ uri, name: 'skill' })) }),
  'resources/read': ({ uri }) => {
    const text = files.get(uri)
    return text === undefined ? undefined : { contents: [{ uri, mimeType: 'text/markdown', text }] }
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  const result = METHODS[method]?.(params)
  if (result !== undefined) say({ id, result })
  else if (method === 'resources/read') say({ id, error: { code: -32002, message: 'Resource not found' } })
  else say({ id: '', error: { code: -32600, message: 'Invalid Request' } })
}

function say(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}
