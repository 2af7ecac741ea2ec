import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Content } from '../support/git/repository.ts'
import { Scene, skill } from '../support/http/marketplace.ts'
import { AgentHome, installAgents } from './agents.ts'

const OBSTACLE = await installAgents()

const FILES: Readonly<Record<string, Content>> = {
  'write-letter/SKILL.md': skill('write-letter', 'first'),
  'write-letter/scripts/run.sh': { executable: '#!/bin/sh\n' },
  'write-poem/SKILL.md': skill('write-poem'),
  'tidy/SKILL.md': skill('tidy'),
}

const CHANGE = { 'write-letter/SKILL.md': skill('write-letter', 'second'), 'write-poem/SKILL.md': null }

/** The version of a plugin in the marketplace that is served now. */
async function versionOf(scene: Scene, token: string, plugin: string): Promise<string> {
  const clone = await scene.clone([], [], token)
  return JSON.parse(await readFile(join(clone, `plugins/${plugin}/plugin.json`), 'utf8')).version
}

/** A hub that needs tokens, and a home of a user who has one. */
async function world() {
  const stack = new AsyncDisposableStack()
  const scene = stack.use(await Scene.hub(FILES))
  const token = await scene.token(['marketplace'])
  const home = stack.use(await AgentHome.with(token, scene.origin))
  const version = async (plugin: string): Promise<string> => versionOf(scene, token, plugin)
  return { scene, home, token, version, [Symbol.asyncDispose]: async () => stack.disposeAsync() }
}

describe.skipIf(OBSTACLE !== undefined)(`real agents${OBSTACLE === undefined ? '' : `, but ${OBSTACLE}`}`, () => {
  test('Claude Code validates the marketplace, installs a plugin of it, and follows it', async () => {
    await using at = await world()
    const { scene, home } = at
    const clone = await scene.clone([], [], at.token)
    const installed = async () =>
      JSON.parse(await readFile(join(home.path, '.claude/plugins/installed_plugins.json'), 'utf8')).plugins[
        'writing@acme'
      ][0]

    for (const path of [clone, join(clone, 'plugins/writing'), join(clone, 'plugins/skills')])
      expect(await home.run('claude', 'plugin', 'validate', '--strict', path)).toContain('Validation passed')
    await home.run('claude', 'plugin', 'marketplace', 'add', scene.url)
    await home.run('claude', 'plugin', 'install', 'writing@acme')
    const first = await installed()

    expect(first).toMatchObject({ version: await at.version('writing') })
    expect(await readFile(join(first.installPath, 'skills/write-letter/SKILL.md'), 'utf8')).toContain('first')

    await scene.commit(CHANGE)
    await home.run('claude', 'plugin', 'marketplace', 'update', 'acme')
    await home.run('claude', 'plugin', 'update', 'writing@acme')
    const second = await installed()

    expect(second).toMatchObject({ version: await at.version('writing') })
    expect(second.version).not.toBe(first.version)
    expect(await readFile(join(second.installPath, 'skills/write-letter/SKILL.md'), 'utf8')).toContain('second')
    expect(await readdir(join(second.installPath, 'skills'))).toEqual(['write-letter'])

    await scene.commit({
      'write-letter/SKILL.md': FILES['write-letter/SKILL.md']!,
      'write-poem/SKILL.md': skill('write-poem'),
    })
    await home.run('claude', 'plugin', 'marketplace', 'update', 'acme')
    await home.run('claude', 'plugin', 'update', 'writing@acme')

    expect((await installed()).version).toBe(first.version)
  })

  test('Codex shows its model the skills of the plugin, and no longer one that is withdrawn', async () => {
    await using at = await world()
    const { scene, home } = at
    const shown = async () => {
      const prompt = await home.run('codex', 'debug', 'prompt-input', 'hi')
      return [...new Set(Array.from(prompt.matchAll(/writing:[a-z-]+/g), ([name]) => name))].toSorted()
    }

    await home.run('codex', 'plugin', 'marketplace', 'add', scene.url, '--json')
    const added = JSON.parse(await home.run('codex', 'plugin', 'add', 'writing@acme', '--json'))

    expect(added).toMatchObject({ version: await at.version('writing') })
    expect(await shown()).toEqual(['writing:write-letter', 'writing:write-poem'])

    await scene.commit(CHANGE)
    await home.run('codex', 'plugin', 'marketplace', 'upgrade', 'acme', '--json')

    expect(await shown()).toEqual(['writing:write-letter'])
    const cache = join(home.path, '.codex/plugins/cache/acme/writing', await at.version('writing'))
    expect(await readFile(join(cache, 'skills/write-letter/SKILL.md'), 'utf8')).toContain('second')
  })

  test('Copilot installs the plugin, and updates it', async () => {
    await using at = await world()
    const { scene, home } = at
    const skills = join(home.path, '.copilot/installed-plugins/acme/writing/skills')

    await home.run('copilot', 'plugin', 'marketplace', 'add', scene.url)
    await home.run('copilot', 'plugin', 'install', 'writing@acme')

    expect((await readdir(skills)).toSorted()).toEqual(['write-letter', 'write-poem'])
    expect(await home.run('copilot', 'plugin', 'list')).toContain(await at.version('writing'))

    await scene.commit(CHANGE)
    await home.run('copilot', 'plugin', 'update', '--all')

    expect(await readdir(skills)).toEqual(['write-letter'])
    expect(await readFile(join(skills, 'write-letter/SKILL.md'), 'utf8')).toContain('second')
  })

  test('Gemini installs the skills of one plugin', async () => {
    await using at = await world()
    const { scene, home } = at

    await home.run('gemini', 'skills', 'install', scene.url, '--path', 'plugins/writing/skills', '--consent')

    expect((await readdir(join(home.path, '.gemini/skills'))).toSorted()).toEqual(['write-letter', 'write-poem'])
  })

  test('the skills CLI finds all skills', async () => {
    await using at = await world()

    expect(await at.home.run('skills', 'add', at.scene.url, '--list')).toContain('Found 3 skills')
  })
})
