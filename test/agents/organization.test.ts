import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { skill } from '../support/http/marketplace.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { AgentHome, installAgents } from './agents.ts'
import { Hub, WRITING } from './hub.ts'
import { managedMachine, managedMachineObstacle } from './managed-machine.ts'
import type { ManagedFile } from './managed-machine.ts'
import { ModelApi } from './model-api.ts'
import { CLAUDE_CODE, CODEX, COPILOT } from './plugin-agents.ts'

await using scratch = await temporaryFolder()
const OBSTACLE = (await installAgents()) ?? (await managedMachineObstacle(scratch.path))

const FILES = { 'write-letter/SKILL.md': skill('write-letter'), 'tidy/SKILL.md': skill('tidy') }

/** A user without any settings, on a machine that has the files which `enroll --organization` prints. */
async function newUser() {
  const stack = new AsyncDisposableStack()
  const hub = stack.use(await Hub.start(FILES, WRITING))
  const api = stack.use(await ModelApi.start())
  const home = stack.use(await AgentHome.with(hub.token, hub.origin))
  const printed = await hub.command('hub', 'enroll', '--organization', '--url', hub.origin, '--json')
  const { agents } = JSON.parse(printed) as { readonly agents: readonly { readonly steps: readonly ManagedFile[] }[] }
  home.under = await managedMachine(
    join(home.path, 'machine'),
    agents.flatMap(({ steps }) => steps),
  )
  return { hub, api, home, [Symbol.asyncDispose]: async () => stack.disposeAsync() }
}

const REASON = OBSTACLE === undefined ? '' : `, but ${OBSTACLE}`

describe.skipIf(OBSTACLE !== undefined)(`the files that enroll prints for an organization${REASON}`, () => {
  test('give Claude Code all plugins in its first session', async () => {
    await using at = await newUser()

    const skills = CLAUDE_CODE.skillsIn(await CLAUDE_CODE.prompt(at.home, at.api))

    expect(skills).toEqual(['skills:tidy: About tidy', 'writing:write-letter: About write-letter'])
  })

  test('give Codex all plugins once it has started', async () => {
    await using at = await newUser()
    await using _ = at.home.startSession()

    await expect
      .poll(async () => CODEX.skillsIn(await CODEX.prompt(at.home, at.api)))
      .toEqual(['skills:tidy: About tidy', 'writing:write-letter: About write-letter'])
  })

  test('give Copilot all plugins in its first session', async () => {
    await using at = await newUser()

    const skills = COPILOT.skillsIn(await COPILOT.prompt(at.home, at.api))

    expect(skills).toEqual(['tidy: About tidy', 'write-letter: About write-letter'])
  })

  test.each(['claude', 'codex', 'copilot'] as const)('let %s add no other marketplace', async (agent) => {
    await using at = await newUser()
    const other = at.hub.url.replace('127.0.0.1', 'localhost')

    const adding = at.home.run(agent, 'plugin', 'marketplace', 'add', other)

    await expect(adding).rejects.toMatchObject({ stderr: expect.stringMatching(/polic|not allowed|requirements/i) })
  })
})
