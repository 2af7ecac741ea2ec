import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { git, skill, withToken } from '../support/http/marketplace.ts'
import { Home } from '../support/process/program.ts'
import { AgentHome, installAgents } from './agents.ts'
import { Hub, WRITING } from './hub.ts'
import { ModelApi } from './model-api.ts'
import { OtherMachine } from './other-machine.ts'
import { CLAUDE_CODE, CODEX } from './plugin-agents.ts'
import type { PluginAgent } from './plugin-agents.ts'
import { Tunnel } from './tunnel.ts'

const OBSTACLE = (await installAgents()) ?? (await OtherMachine.obstacle())

const FILES = { 'write-letter/SKILL.md': skill('write-letter') }
const NEW = { 'write-poem/SKILL.md': skill('write-poem') }
const POEM = 'write-poem: About write-poem'

/** The places that a laptop can follow. */
interface Followed {
  readonly hub: Hub
  /** The hub by an address of this machine: a token crosses no network in clear. */
  readonly tunnel: Tunnel
}

/** The sources from which a laptop can fill the folders of its agents, each with the lines of its configuration. */
const FOLLOWED: readonly (readonly [string, (followed: Followed) => readonly string[]])[] = [
  ['the repository', ({ hub: { upstream } }) => [`url: ${upstream}`, 'every: 1s']],
  [
    'the hub',
    ({ tunnel }) => [
      `mcp: ${tunnel.origin}/mcp`,
      'auth: { token: { env: HUB_TOKEN } }',
      'approval: none',
      'folders: true',
    ],
  ],
]

/** A hub on another machine, and the laptop of a user with agents, who types nothing any more. */
async function world() {
  const stack = new AsyncDisposableStack()
  const laptop = await Home.create()
  const machine = stack.use(await OtherMachine.start(laptop))
  const { here, there, under } = machine
  const place = { upstream: here, every: '1s', http: `port: 0, host: ${there}, allowed_hosts: [127.0.0.1]`, under }
  const hub = stack.use(await Hub.start(FILES, WRITING, place))
  const tunnel = stack.use(await Tunnel.to(hub.origin))
  const agents = stack.use(await AgentHome.in(laptop.path))
  const api = stack.use(await ModelApi.start())
  const netrc = `machine ${there} login token password ${hub.token}\n`
  await writeFile(join(laptop.path, '.netrc'), netrc, { mode: 0o600 })
  return { hub, tunnel, laptop, agents, api, [Symbol.asyncDispose]: async () => stack.disposeAsync() }
}

/** Prints the time since the commit. */
function stopwatch(title: string): (what: string) => void {
  const startMs = performance.now()
  return (what) => {
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(1)
    process.stdout.write(`${title}: ${seconds} s from the commit until ${what}\n`)
  }
}

describe.skipIf(OBSTACLE !== undefined)(
  `a commit upstream, with the hub on a machine of its own${OBSTACLE === undefined ? '' : `, but ${OBSTACLE}`}`,
  () => {
    test('arrives in the next session of Codex by the marketplace', async () => {
      await using at = await world()
      const { hub, agents, api } = at
      await CODEX.install(agents, hub.url, 'writing@acme')
      const remote = withToken(hub.url, hub.token)
      const before = await git(['ls-remote', remote, 'HEAD'])

      await hub.push(NEW)
      const lap = stopwatch('Marketplace')
      await expect.poll(async () => git(['ls-remote', remote, 'HEAD'])).not.toBe(before)
      lap('git is served it')
      await using _ = agents.startSession()
      await expect.poll(async () => CODEX.skillsIn(await CODEX.prompt(agents, api))).toContain(`writing:${POEM}`)
      lap('the model of Codex is shown it, in a session that starts then')
    })

    test.each(FOLLOWED)(
      'arrives in the next session of Claude Code and Codex by folders that the laptop fills from %s',
      async (_, sourceOf) => {
        await using at = await world()
        const { hub, laptop, agents, api } = at
        laptop.env['HUB_TOKEN'] = hub.token
        await laptop.configure({ team: sourceOf(at) }, ['links: [claude-code, codex]'])
        const daemon = laptop.start('start')
        await daemon.said((line) => line.includes('"folder-followed"') && line.includes('.agents'))

        await hub.push(NEW)
        const lap = stopwatch('Folders')
        const shownBy = async (agent: PluginAgent): Promise<void> => {
          await expect.poll(async () => agent.skillsIn(await agent.prompt(agents, api))).toContain(POEM)
          lap(`the model of ${agent.title} is shown it`)
        }

        await Promise.all([CODEX, CLAUDE_CODE].map(shownBy))
      },
    )
  },
)
