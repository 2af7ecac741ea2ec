import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { forbiddingRules } from '../../../../src/features/marketplace/enrollment/enroll-check.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

const CLAUDE = ['claude-code', '/etc/claude-code/managed-settings.json'] as const
const VSCODE = ['vscode', '/etc/github-copilot/managed-settings.json'] as const
const CODEX = ['codex', '/etc/codex/requirements.toml'] as const
const URL = 'https://hub.example.com/marketplace.git'

async function whyOf([agent, file]: readonly [string, string], text: string): Promise<string | undefined> {
  await using root = await temporaryFolder()
  const path = join(root.path, file)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  const [rule] = await forbiddingRules([agent], { url: URL }, root.path)
  return rule?.message
}

test.each([
  [CLAUDE, '{}'],
  [
    CLAUDE,
    String.raw`{"strictKnownMarketplaces": [{"source": "hostPattern", "hostPattern": "^hub\\.example\\.com$"}]}`,
  ],
  [VSCODE, `{"strictKnownMarketplaces": [{"source": "npm"}, {"source": "git", "url": "${URL}"}]}`],
  [CLAUDE, '{"blockedMarketplaces": [{"source": "git", "url": "https://other"}]}'],
  [CODEX, '[marketplaces]\nrestrict_to_allowed_sources = false'],
  [
    CODEX,
    '[marketplaces]\nrestrict_to_allowed_sources = true\n[marketplaces.allowed_sources.x]\nsource = "host_pattern"\nhost_pattern = "hub"',
  ],
] as const)('a rule allows the marketplace: %j %s', async (place, text) => {
  expect(await whyOf(place, text)).toBeUndefined()
})

test.each([
  [CLAUDE, '{"strictKnownMarketplaces": []}', 'strictKnownMarketplaces does not name this one'],
  [CLAUDE, '{"strictKnownMarketplaces": [{"hostPattern": "("}]}', 'strictKnownMarketplaces does not'],
  [VSCODE, `{"blockedMarketplaces": [{"source": "git", "url": "${URL}"}]}`, 'blockedMarketplaces names this one'],
  [CODEX, '[marketplaces]\nrestrict_to_allowed_sources = true', 'restrict_to_allowed_sources is set'],
  [CODEX, 'x = ', 'it is not valid: line 1'],
] as const)('a rule forbids the marketplace: %j %s', async (place, text, why) => {
  expect(await whyOf(place, text)).toContain(why)
})

test('a machine without such files forbids nothing', async () => {
  await using root = await temporaryFolder()

  expect(await forbiddingRules(['claude-code', 'codex', 'copilot'], { url: URL }, root.path)).toEqual([])
})
