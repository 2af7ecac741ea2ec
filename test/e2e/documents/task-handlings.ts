import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { contractFrontmatter, documentOf } from '../../support/content/contract-fixture.ts'
import { Repository } from '../../support/git/repository.ts'
import { serve } from '../../support/served.ts'
import { ADD_TEAM, AUTHOR, commitNext, commitOf, LOCK, locks, pulled, serves, skill, START } from './handling.ts'
import type { Handlings } from './handling.ts'
import type { ShellHome } from './shell-home.ts'

/** The source `team` alone, on a machine of its own; with `lines` of the source. */
const teamOn =
  (machine: string, ...lines: readonly string[]) =>
  async (home: ShellHome): Promise<void> => {
    const source = ['id: team', 'url: https://git.example.com/team/skills.git', ...lines].join('\n    ')
    await home.move(machine, `sources:\n  - ${source}\nserve: { http: { port: 0 } }\n`)
  }

export const PINNING: Handlings = {
  'skillsyncd lock': { before: teamOn('locked'), ...LOCK },
  'skillsyncd start': START,
  'skillsyncd status --upstream': {
    before: async (home) => commitNext(home, 'the next text'),
    status: 3,
    says: /team/,
  },
  'skillsyncd diff': { status: 3, says: /review.*\+the next text/s },
  'skillsyncd update team': {
    after: async (home) => locks(home, 'main'),
  },
  'skillsyncd update team --precise 3f2c9d1e5b7a4c6d8e0f1a2b3c4d5e6f7a8b9c0d': {
    as: async (line, home) => line.replace(/[0-9a-f]{40}/, await commitOf(home, 'main~1')),
    after: async (home) => locks(home, 'main~1'),
  },
  'skillsyncd diff served upstream --only team': {
    before: async (home) => {
      await teamOn('reviewed', 'update: review')(home)
      await home.run('skillsyncd sync')
    },
    status: 3,
    says: /review/,
  },
  'skillsyncd preview team/review --waiting': { says: /name: review/ },
  'skillsyncd approve team': { status: 2, says: /[0-9a-f]{40}/ },
  'skillsyncd approve team 3f2c…': {
    as: async (line, home) => line.replace('3f2c…', await commitOf(home, 'main')),
    after: async (home) => serves(home, 'main'),
  },
  'skillsyncd reject team': {
    before: async (home) => {
      await commitNext(home, 'to reject')
      await home.run('skillsyncd sync')
    },
    after: async (home) => {
      await pulled(home)
      await serves(home, 'main~1')
    },
  },
  'skillsyncd log': {
    before: async (home) => {
      await teamOn('undone')(home)
      await pulled(home)
      for (const body of ['second of three', 'third of three']) {
        await commitNext(home, body)
        await pulled(home)
      }
    },
    says: /^\* 3 .*^ {2}2 .*^ {2}1 /ms,
  },
  'skillsyncd rollback 41': {
    as: async (line) => line.replace('41', '1'),
    after: async (home) => serves(home, 'main~2'),
  },
  'skillsyncd rollback team 3f2c9d1': {
    as: async (line, home) => line.replace('3f2c9d1', (await commitOf(home, 'main~1')).slice(0, 7)),
    after: async (home) => serves(home, 'main~1'),
  },
  'skillsyncd hold team 3f2c9d1 --reason "the newest breaks pdf"': {
    as: async (line, home) => line.replace('3f2c9d1', (await commitOf(home, 'main~2')).slice(0, 7)),
    says: /\(the newest breaks pdf\) until skillsyncd release team/,
    after: async (home) => serves(home, 'main~2'),
  },
  'skillsyncd release team': { after: async (home) => serves(home, 'main') },
  'skillsyncd status --rings': {
    before: async (home) => {
      const rings = '[{ id: canary }, { id: beta, min_age: 1d }, { id: stable, min_age: 3d }]'
      await teamOn('rings')(home)
      await home.edit((text) => `${text}rings: ${rings}\n`)
      await pulled(home)
      await home.run('skillsyncd hub token add ada')
      await commitNext(home, 'for the rings')
      await pulled(home)
    },
    says: /canary.*beta.*stable/s,
  },
  'skillsyncd status --rings ada': { says: /ada.*stable/s },
  'skillsyncd promote team --now': { says: /beta.*stable/s },
  'skillsyncd promote team --ring beta --now': {},
  'skillsyncd hold team --ring stable --reason "release week"': { says: /stable.*\(release week\)/s },
  'skillsyncd release team --ring stable': { says: /stable/ },
}

export const AUTHORS: Handlings = {
  ...AUTHOR,
  'skillsyncd skill project skills/refunds': {
    before: async (home) => {
      await home.move('projecting')
      await mkdir(join(home.path, 'skills/refunds'), { recursive: true })
      await writeFile(join(home.path, 'skills/refunds/SKILL.md'), documentOf(contractFrontmatter('refunds')))
    },
    says: /^---\nname: "refunds"/,
  },
  'skillsyncd skill project skills --out build/skills': {
    after: async ({ cwd }) => expect(existsSync(join(cwd, 'build/skills/refunds/SKILL.md'))).toBe(true),
  },
  'skillsyncd skill project build/skills/refunds --reverse': { says: /x-personal-mcp/ },
}

/** The path of the skill of the document below the source of the server here. */
const ofServer = async (line: string): Promise<string> => line.replace('hub/refunds', 'hub/house/refunds')

async function approvalIdOf(home: ShellHome, target: string): Promise<string> {
  const { stdout } = await home.run(`skillsyncd approve ${target} --json`)
  return (JSON.parse(stdout) as { readonly id: string }).id
}

const APPROVALS: Handlings = {
  'skillsyncd preview hub/refunds': {
    before: async (home) => {
      const repository = home.keep(await Repository.create())
      await repository.commit({ 'refunds/SKILL.md': skill('refunds') })
      const server = home.keep(await serve(repository, { id: 'house' }))
      const source = `{ id: hub, mcp: "${server.url}" }`
      await home.move('approving', `sources:\n  - ${source}\nserve: { http: { port: 0 } }\n`)
      await pulled(home)
    },
    as: ofServer,
    says: /skillsyncd approve hub\/house\/refunds [0-9a-f]{64}\n.*About refunds/s,
  },
  'skillsyncd approve hub/refunds': { as: ofServer, status: 2, says: /[0-9a-f]{64}/ },
  'skillsyncd approve hub/': { status: 2, says: /refunds/ },
  'skillsyncd approve hub/refunds 9c1e…': {
    as: async (line, home) => (await ofServer(line)).replace('9c1e…', await approvalIdOf(home, 'hub/house/refunds')),
    after: async (home) => expect((await home.run('skillsyncd list')).stdout).toMatch(/refunds.*served/),
  },
}

const WEBHOOK = 'it is the line of a hook in another repository; test/e2e/http/webhook.test.ts sends what it sends'
const TEMPLATES = 'it needs a server with templates; test/conformance/host/spaces.test.ts has one'

export const SOURCES: Handlings = {
  'skillsyncd add owner/repo': {
    before: async (home) => {
      await home.move('sources')
      expect(await home.run('skillsyncd add anthropics/skills')).toMatchObject({ status: 0 })
      await mkdir(join(home.path, 'skills/own'), { recursive: true })
    },
    after: async (home) => expect(await home.configuration()).toContain('https://github.com/owner/repo'),
  },
  'skillsyncd add --id team https://git.example.com/team/skills.git': ADD_TEAM,
  'skillsyncd add --from-marketplace team': {
    before: async (home) => {
      await home.edit((text) => text.replace('  - id: team\n', '  - id: team\n    marketplace: true\n'))
      await pulled(home)
    },
    after: async (home) => expect(await home.configuration()).toContain('https://git.example.com/writing/skills.git'),
  },
  'skillsyncd remove team': {
    after: async (home) => expect(await home.configuration()).not.toContain('team/skills.git'),
  },
  ...APPROVALS,
  'body="$(date +%s) $(git rev-parse HEAD)"': { skip: WEBHOOK },
  'curl -fsS https://hooks.example.com/hooks/house --data-binary "$body" -H "X-Skillsyncd-Signature: sha256=$(': {
    skip: WEBHOOK,
  },
  [`printf %s "$body" | openssl dgst -sha256 -hmac "$SECRET" -r | cut -d' ' -f1)"`]: { skip: WEBHOOK },
  'skillsyncd mcp-source add hub skill://refunds/SKILL.md': { skip: TEMPLATES },
  'skillsyncd mcp-source add hub skill://refunds/SKILL.md --remove': { skip: TEMPLATES },
  'skillsyncd mcp-source add hub': { skip: TEMPLATES },
  'skillsyncd mcp-source add hub 1 product=payments': { skip: TEMPLATES },
  'skillsyncd list --plugins team': {
    before: async (home) => {
      await teamOn('marketplace', 'marketplace: true')(home)
      await pulled(home)
    },
    says: /writing/,
  },
  'skillsyncd list --plugins team --as packs': { says: /packs:.*plugin: notes/s },
  'skillsyncd list --plugins team writing --as sources': {
    says: /url: https:\/\/git\.example\.com\/writing\/skills\.git/,
  },
  'skillsyncd add --from-marketplace team writing': {
    after: async (home) => expect(await home.configuration()).toContain('https://git.example.com/writing/skills.git'),
  },
}
