// The daemon as the host of a server: what the official conformance suite runs as a client, with the address as its last word.
// It looks at the server, lists its skills for a client of its own, and has that client read all files of them, SKILL.md first.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../../dist/program/main.js', import.meta.url))
const REVISION = '2026-07-28'
const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'client-of-the-host', version: '1' },
}

/** Its files are not to be read before somebody wants them, and here nobody does. */
const LISTS_ONLY = new Set(['sep-2640-client-no-prefetch'])

const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
const address = process.argv.at(-1)
const home = await mkdtemp(join(tmpdir(), 'host-'))
const config = join(home, 'skillsyncd.yaml')
for (const name of ['run', 'state']) await mkdir(join(home, name))
await writeFile(
  config,
  [
    `sources: [{ id: suite, mcp: ${JSON.stringify(address)}, approval: none, every: 1h }]`,
    `state: ${JSON.stringify(join(home, 'state'))}`,
    'serve: { http: { port: 0 } }',
    '',
  ].join('\n'),
)

const daemon = started('start')
const [url] = await once(createInterface({ input: daemon.stdout }), 'line')
try {
  const [status] = await once(started('sync'), 'close')
  say(`The look ended with ${status}`)
  const { result } = await asked('skills/list', {})
  for (const { uri, resources } of result.skills) {
    say(`lists ${uri}`)
    const files = LISTS_ONLY.has(scenario)
      ? []
      : [uri, ...resources.map((file) => file.uri).filter((file) => file !== uri)]
    for (const file of files) say(`${file}: ${JSON.stringify(await asked('resources/read', { uri: file }))}`)
  }
} finally {
  daemon.kill()
  await once(daemon, 'close')
}

function started(command) {
  const env = { PATH: process.env['PATH'], HOME: home, TMPDIR: home, XDG_RUNTIME_DIR: join(home, 'run') }
  const child = spawn(process.execPath, [MAIN, command, '--config', config], { env })
  child.stderr.pipe(process.stderr)
  return child
}

async function asked(method, params) {
  const name = params.uri === undefined ? {} : { 'mcp-name': params.uri }
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': REVISION,
    'mcp-method': method,
    ...name,
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } })
  return (await fetch(url, { method: 'POST', headers, body })).json()
}

function say(text) {
  process.stdout.write(`${text}\n`)
}
