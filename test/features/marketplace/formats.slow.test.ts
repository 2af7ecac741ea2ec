import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { runNow } from '../../../src/base/async/cooperative.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import type { WholeConfig } from '../../../src/daemon/configuration.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { manifestsOf } from '../../../src/features/marketplace/marketplace-revision.ts'
import { pluginsIn } from '../../../src/features/marketplace/plugins.ts'
import { EMPTY_CATALOG } from '../../../src/sync/catalog/catalog.ts'
import { lawRuns } from '../../support/law-runs.ts'
import { AGENT_PLUGIN, CLAUDE_MARKETPLACE, CODEX_MARKETPLACE, CURSOR_MARKETPLACE, PLUGIN } from './client-formats.ts'

const ajv = new Ajv2020({ allErrors: true })

/** The formats of the files of a marketplace, and of those of each plugin. */
const OF_MARKETPLACE = {
  '.claude-plugin/marketplace.json': ajv.compile(CLAUDE_MARKETPLACE),
  '.agents/plugins/marketplace.json': ajv.compile(CODEX_MARKETPLACE),
  '.cursor-plugin/marketplace.json': ajv.compile(CURSOR_MARKETPLACE),
}
const OF_PLUGIN = {
  'plugin.json': ajv.compile(AGENT_PLUGIN),
  '.claude-plugin/plugin.json': ajv.compile(PLUGIN),
  '.cursor-plugin/plugin.json': ajv.compile(PLUGIN),
}

test('whatever configuration is accepted, each client can read the manifests, and they agree', () => {
  fc.assert(
    fc.property(CONFIGURATIONS, (yaml) => {
      const config = parseConfig(yaml, 'skillsyncd.yaml', environmentOf({}, '/home/ada'))
      fc.pre(!Array.isArray(config))

      const files = manifestsIn(config)

      for (const [path, validate] of Object.entries(OF_MARKETPLACE)) expectValid(files.get(path), validate)
      const { plugins } = jsonOf(files.get('.claude-plugin/marketplace.json')) as {
        readonly plugins: readonly { readonly name: string; readonly version: string }[]
      }
      expect(new Set(plugins.map(({ name }) => name)).size).toBe(plugins.length)
      for (const { name, version } of plugins) {
        for (const [path, validate] of Object.entries(OF_PLUGIN)) {
          const manifest = expectValid(files.get(`plugins/${name}/${path}`), validate)
          expect(manifest).toMatchObject({ name, version })
        }
      }
      const others =
        files.size - 1 - Object.keys(OF_MARKETPLACE).length - plugins.length * Object.keys(OF_PLUGIN).length
      expect(others).toBe(0)
    }),
    { numRuns: lawRuns(2_000, 1 / 10), maxSkipsPerRun: 1_000 },
  )
})

test.each([
  'Acme_Tools',
  'acme--tools',
  'acme.tools',
  '-acme',
  'acme-',
  'aux',
  'a'.repeat(65),
  'Acme',
  'acmé',
  '../acme',
])('no pack and no marketplace is called "%s"', (name) => {
  const configured = (by: string): readonly boolean[] =>
    [{ name: by }, { packs: [by] }, { retired: [by] }, { plugin: by }].map(
      (written) => !Array.isArray(parseConfig(yamlOf(written), 'skillsyncd.yaml', environmentOf({}, '/home/ada'))),
    )

  expect(configured(name)).toEqual([false, false, false, false])
  expect(configured('other')).toEqual([true, true, true, true])
})

/** A part of a configuration, in which odd values stand for those that somebody could write. */
interface Written {
  readonly name?: string
  readonly owner?: string
  readonly description?: string
  readonly plugin?: string
  readonly packs?: readonly string[]
  readonly told?: string
  readonly retired?: readonly string[]
  readonly renames?: Readonly<Record<string, string>>
}

function yamlOf({ name = 'acme', packs = [], told = 'Of a pack', ...rest }: Written): string {
  const marketplace = { name, ...rest }
  const listed = packs.map((id) => ({ id, description: told, include: [{ source: 'team' }] }))
  return [
    "sources: [{ id: team, url: 'https://git.example.com/team.git' }]",
    `packs: ${JSON.stringify(listed)}`,
    `serve: { marketplace: ${JSON.stringify(marketplace)} }`,
  ].join('\n')
}

const NAME = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[a-z0-9]{1,8}(?:-[a-z0-9]{1,8}){0,2}$/) },
  { weight: 1, arbitrary: fc.constantFrom('a'.repeat(64), 'a.b', 'a--b', 'A', 'nul', '0', '__proto__', 'constructor') },
)

const LINE = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }),
  fc.constantFrom('"', '\\', '{}', 'null', '</script>', '\u202e', '😀'.repeat(50), '0', '-', '$schema', '\u2028'),
)

const CONFIGURATIONS = fc
  .record(
    {
      name: NAME,
      owner: LINE,
      description: LINE,
      plugin: NAME,
      packs: fc.uniqueArray(NAME, { maxLength: 4 }),
      told: LINE,
      retired: fc.uniqueArray(NAME, { maxLength: 2 }),
      renames: fc.dictionary(NAME, fc.constant('skills'), { maxKeys: 2 }),
    },
    { requiredKeys: [] },
  )
  .map(yamlOf)

function manifestsIn({ packs, serve: { marketplace } }: WholeConfig): ReadonlyMap<string, Buffer> {
  if (marketplace === undefined) throw new Error('There is no marketplace in the configuration')
  return manifestsOf(marketplace, runNow(pluginsIn(EMPTY_CATALOG, packs, marketplace, undefined)).plugins)
}

function jsonOf(bytes: Buffer | undefined): unknown {
  return JSON.parse(String(bytes))
}

/** Returns the value, which has the format. */
function expectValid(bytes: Buffer | undefined, validate: ReturnType<typeof ajv.compile>): unknown {
  const value = jsonOf(bytes)
  expect(validate(value) ? [] : validate.errors, String(bytes)).toEqual([])
  return value
}
