import { existsSync } from 'node:fs'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { ADD_TEAM, AUTHOR, commitNext, FROZEN, INIT, LINK, LOCK, locks, skill, START } from './handling.ts'
import type { Handlings } from './handling.ts'

const NPM = 'npm fetches from a registry; test/e2e/package.test.ts installs the packed program and runs it'
const SYSTEMD = 'changes the services of the machine; test/systemd and test/daemon/service run it'

export const README: Handlings = {
  'npm start': { skip: 'test/e2e/first-minute.test.ts runs it' },
  'npm test': { skip: 'it runs this test too' },
  'npm pack': { skip: NPM },
  'npm install --global ./skillsyncd-0.1.0.tgz': { skip: NPM },
  'skillsyncd add anthropics/skills': INIT,
  'skillsyncd start': START,
  'skillsyncd status': { says: /anthropics.*[0-9a-f]{7}/s },
  'skillsyncd add https://git.example.com/team/skills.git': ADD_TEAM,
  'skillsyncd link claude-code codex': LINK,
  'skillsyncd service install --user --now': { skip: SYSTEMD },
  'skillsyncd lock': LOCK,
  'skillsyncd hub token add ada': { says: /[\w-]{30,}/ },
  'skillsyncd sync --locked': { before: async (home) => home.clone('ci') },
  'skillsyncd link --once --to build/skills --copy --locked': {
    after: async ({ cwd }) => expect(await readFile(join(cwd, 'build/skills/pdf/SKILL.md'), 'utf8')).toBe(skill('pdf')),
  },
  ...AUTHOR,
  'skillsyncd store backup skills.backup': {
    before: async (home) => {
      home.return('ci')
    },
  },
  'skillsyncd store restore skills.backup': {
    before: async (home) => {
      const backup = join(home.path, 'skills.backup')
      await home.clone('disconnected')
      await cp(backup, join(home.path, 'skills.backup'))
      await home.disconnect()
    },
  },
  'skillsyncd start --frozen': {
    ...FROZEN,
    after: async (home) => {
      const { stdout } = await home.run('skillsyncd list')
      expect(stdout).toMatch(/pdf/)
      expect(stdout).toMatch(/review/)
    },
  },
}

export const GETTING_STARTED: Handlings = {
  'skillsyncd add anthropics/skills': INIT,
  'skillsyncd add https://git.example.com/team/skills.git': ADD_TEAM,
  'skillsyncd add ~/skills': {
    after: async (home) => expect(await home.configuration()).toMatch(/path: .*skills/),
  },
  'skillsyncd start': START,
  'skillsyncd status': { says: /anthropics.*team.*[0-9a-f]{7}/s },
  'skillsyncd list': { says: /anthropics.*pdf.*team.*review.*own/s },
  'skillsyncd show pdf': { says: /SKILL\.md.*[0-9a-f]{64}/s },
  'skillsyncd why pdf': { says: /rule .*"pdf" below root "skills"/ },
  'skillsyncd stop': { after: async (home) => expect(await home.daemonEnd()).toBe(0) },
  'skillsyncd link claude-code codex': LINK,
  'skillsyncd lock': LOCK,
  'skillsyncd status --upstream': {
    before: async (home) => commitNext(home, 'second'),
    status: 3,
    says: /team/,
  },
  'skillsyncd update team': {
    after: async (home) => locks(home, 'main'),
  },
  'skillsyncd link --remove --all': {
    after: async ({ path }) => expect(existsSync(join(path, '.claude/skills/pdf'))).toBe(false),
  },
  'skillsyncd service uninstall': { skip: SYSTEMD },
  'npm uninstall --global skillsyncd': { skip: NPM },
  'rm -rf ~/.local/state/skillsyncd ~/.config/skillsyncd ~/.cache/skillsyncd': {
    after: async ({ configFile }) => expect(existsSync(configFile)).toBe(false),
  },
}
