import { describe, expect, test } from 'vitest'
import { skill } from '../support/http/marketplace.ts'
import { AgentHome, installAgents } from './agents.ts'
import { Hub, WRITING } from './hub.ts'
import { ModelApi } from './model-api.ts'
import { COPILOT, installedFiles, PLUGIN_AGENTS } from './plugin-agents.ts'
import type { PluginAgent } from './plugin-agents.ts'

const OBSTACLE = await installAgents()

const PLUGIN = 'writing@acme'

const FILES = {
  'write-letter/SKILL.md': skill('write-letter', 'first'),
  'write-letter/scripts/run.sh': { executable: '#!/bin/sh\n' },
  'write-poem/SKILL.md': skill('write-poem'),
  'tidy/SKILL.md': skill('tidy'),
}

const CHANGED = { 'write-letter/SKILL.md': skill('write-letter', 'second').replace('About', 'About more than') }

describe.skipIf(OBSTACLE !== undefined)(`real agents${OBSTACLE === undefined ? '' : `, but ${OBSTACLE}`}`, () => {
  test.each(PLUGIN_AGENTS.map((agent) => [agent.title, agent] as const))(
    '%s shows its model the skills of the plugin as they are after each change, and none of a retired pack',
    async (_, agent) => {
      await using hub = await Hub.start(FILES, WRITING)
      await using home = await AgentHome.with(hub.token, hub.origin)
      await using api = await ModelApi.start()
      const shown = async () => agent.skillsIn(await agent.prompt(home, api))
      const shownAfterUpdate = async () => {
        await agent.update(home, PLUGIN)
        return shown()
      }
      const files = async () => installedFiles(await agent.folder(home, PLUGIN))

      await agent.install(home, hub.url, PLUGIN)
      const [first, firstFiles] = [await shown(), await files()]
      await hub.commit(CHANGED)
      const changed = await shownAfterUpdate()
      await hub.command('disable', 'write-poem')
      const withdrawn = await shownAfterUpdate()
      await hub.command('enable', 'write-poem')
      await hub.command('rollback', '1')
      const [rolledBack, rolledBackFiles] = [await shownAfterUpdate(), await files()]
      await hub.reconfigure({
        packs: ['- { id: tidying, include: [{ name: tidy }] }'],
        marketplace: ['retired: [writing]'],
      })
      const retired = await shownAfterUpdate()

      const [letter, poem] = ['write-letter', 'write-poem'].map((name) => nameIn(agent, name))
      expect(first).toEqual([`${letter}: About write-letter`, `${poem}: About write-poem`])
      expect(changed).toEqual([`${letter}: About more than write-letter`, `${poem}: About write-poem`])
      expect(withdrawn).toEqual([`${letter}: About more than write-letter`])
      expect(rolledBack).toEqual(first)
      expect(rolledBackFiles).toEqual(firstFiles)
      expect(firstFiles.map(([path]) => path)).toContain('skills/write-letter/scripts/run.sh')
      expect(retired).toEqual([])
    },
  )
})

/** Copilot names the plugin of a skill only where two plugins have one of that name. */
function nameIn(agent: PluginAgent, name: string): string {
  return agent === COPILOT ? name : `writing:${name}`
}
