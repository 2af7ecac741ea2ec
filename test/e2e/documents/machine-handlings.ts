import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { pulled, skill } from './handling.ts'
import type { Handling, Handlings } from './handling.ts'
import type { ShellHome } from './shell-home.ts'

const AGENTS = 'the program of an agent, which is not installed here; test/agents installs some'
const ENROLLMENT = 'it changes the settings of agents for a hub at https; test/daemon/enrollment runs it'
const HUB = 'it needs a hub behind a proxy with a certificate; test/daemon/cli/doctor has one'

/** Two sources and the pack `web` of one of them, pulled, on a machine of its own. */
const hubOn =
  (machine: string) =>
  async (home: ShellHome): Promise<void> => {
    const sources = [
      '  - { id: anthropics, url: https://github.com/anthropics/skills }',
      '  - { id: team, url: https://git.example.com/team/skills.git }',
    ]
    const lines = ['sources:', ...sources, 'packs: [{ id: web, include: [{ source: team }] }]']
    await home.move(machine, `${lines.join('\n')}\nserve: { http: { port: 0 } }\n`)
    await pulled(home)
  }

/** A command that puts the skills into a folder. */
const fills = (folder: string): Handling => ({
  after: async ({ path }) => expect(existsSync(join(path, folder, 'review/SKILL.md'))).toBe(true),
})

const TOKEN: Handling = { says: /[\w-]{30,}/ }

export const CLIENTS: Handlings = {
  'skillsyncd link': { before: hubOn('folders'), says: /claude-code/ },
  'skillsyncd skill validate skills --window 200000': {
    before: async ({ path }) => {
      for (const name of ['one', 'two']) {
        await mkdir(join(path, 'skills', name), { recursive: true })
        await writeFile(join(path, 'skills', name, 'SKILL.md'), skill(name, `# ${name}`))
      }
    },
    says: /context budget {2}claude-code, with 200000 tokens: \d+ of 1923 characters/,
  },
  'skillsyncd diff served upstream': { says: /no difference/ },
  'skillsyncd link claude-code': fills('.claude/skills'),
  'skillsyncd link codex --project ~/work': {
    before: async ({ path }) => mkdir(join(path, 'work')),
    ...fills('work/.agents/skills'),
  },
  'skillsyncd link cursor --copy': fills('.cursor/skills'),
  'skillsyncd link --to /srv/skills': {
    as: async (line, { path }) => line.replace('/srv', join(path, 'srv')),
    ...fills('srv/skills'),
  },
  'skillsyncd link --remove claude-code': {
    after: async ({ path }) => {
      expect(existsSync(join(path, '.claude/skills/review'))).toBe(false)
      expect(existsSync(join(path, '.cursor/skills/review'))).toBe(true)
    },
  },
  'claude mcp add --transport http skills http://127.0.0.1:8741/mcp': { skip: AGENTS },
  'codex mcp add skills --url http://127.0.0.1:8741/mcp': { skip: AGENTS },
  'gemini mcp add --scope user --transport http skills http://127.0.0.1:8741/mcp': { skip: AGENTS },
  'skillsyncd list "fill in a pdf form"': { says: /^pdf +anthropics/m },
  'skillsyncd instructions >> AGENTS.md': {
    after: async ({ cwd }) => expect(await readFile(join(cwd, 'AGENTS.md'), 'utf8')).toMatch(/^<skills-mcp-/),
  },
  'skillsyncd list --prompt > catalog.txt': {
    after: async ({ cwd }) =>
      expect(await readFile(join(cwd, 'catalog.txt'), 'utf8')).toMatch(/<available_skills>.*pdf.*review/s),
  },
  'skillsyncd hub enroll claude-code codex vscode --write --token-file token': { skip: ENROLLMENT },
  'skillsyncd hub enroll claude-code codex --organization --write --yes --root /mnt/image': { skip: ENROLLMENT },
  'skillsyncd hub enroll --check': { skip: ENROLLMENT },
}

export const ACCESS: Handlings = {
  'skillsyncd hub token add ada': { before: hubOn('hub'), ...TOKEN },
  'skillsyncd hub token add ci --scope skills --expires never': TOKEN,
  'skillsyncd hub token add bob --pack web': TOKEN,
  'skillsyncd doctor --connect https://skills.example.com --token-file token': { skip: HUB },
  'skillsyncd list --pack web': { says: /^(?!.*pdf).*review/s },
  'skillsyncd list --prompt --pack web': { says: /^(?!.*pdf).*review/s },
}

export const SECURITY: Handlings = {
  'skillsyncd hub export': { before: hubOn('inventory'), says: /"bomFormat": ?"CycloneDX".*review/s },
  'skillsyncd hub export --format spdx --output sbom.json': {
    after: async ({ cwd }) => expect(await readFile(join(cwd, 'sbom.json'), 'utf8')).toMatch(/"SPDX-2\.3"/),
  },
  'skillsyncd hub export --generation 41': {
    as: async (line) => line.replace('41', '1'),
    says: /"bomFormat": ?"CycloneDX"/,
  },
}

const DOCTORED: Handling = { says: /ok|warn/ }

export const TROUBLESHOOTING: Handlings = {
  'skillsyncd status': { before: hubOn('doctored'), says: /team/ },
  'skillsyncd explain CODE': {
    as: async (line) => line.replace('CODE', 'repository-not-found'),
    says: /^repository-not-found: problem of a source$/m,
  },
  'skillsyncd why SKILL': { as: async (line) => line.replace('SKILL', 'review'), says: /team/ },
  'skillsyncd doctor': DOCTORED,
  'skillsyncd doctor --offline': DOCTORED,
  'skillsyncd doctor --strict': { skip: 'the machine decides if there is a warning' },
  'skillsyncd doctor team': DOCTORED,
  'skillsyncd doctor --connect': {
    skip: 'the daemon here is on any port, and the configured one is that of the tests',
  },
  'skillsyncd doctor --connect https://skills.example.com --token-file /run/secrets/skills-token': { skip: HUB },
}
