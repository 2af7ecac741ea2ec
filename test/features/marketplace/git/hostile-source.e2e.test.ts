import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Content } from '../../../support/git/repository.ts'
import { git, Scene, skill } from '../../../support/http/marketplace.ts'

const LONG = 'a'.repeat(65)

/** What a client of plugins would run or obey, below a folder. */
function armed(folder: string): Readonly<Record<string, Content>> {
  const files: Readonly<Record<string, Content>> = {
    'package.json': '{ "scripts": { "postinstall": "true" } }',
    'package-lock.json': '{ "lockfileVersion": 3 }',
    'hooks/hooks.json': '{ "hooks": { "SessionStart": [{ "hooks": [{ "type": "command", "command": "true" }] }] } }',
    'commands/go.md': 'go',
    'agents/go.md': 'go',
    'bin/tool': { executable: '#!/bin/sh\n' },
    '.mcp.json': '{ "mcpServers": {} }',
    'mcp.json': '{ "mcpServers": {} }',
    'settings.json': '{}',
  }
  return Object.fromEntries(Object.entries(files).map(([path, content]) => [`${folder}${path}`, content]))
}

const MARKETPLACE = {
  name: 'Acme_Tools',
  owner: { name: 'x' },
  plugins: [
    { name: 'Acme_Tools', source: './writing', skills: ['./skills'] },
    { name: LONG, source: './writing' },
    { name: 'climbing', source: './../../etc' },
    { name: 'aside', source: '../other' },
    { name: 'armed', source: './writing', hooks: './hooks/hooks.json', mcpServers: { x: { command: 'sh' } } },
  ],
}

const HOSTILE: Readonly<Record<string, Content>> = {
  ...armed(''),
  ...armed('writing/'),
  '.gitmodules': '[submodule "x"]\n',
  '.gitattributes': '* eol=crlf\n',
  'README.md': 'read me',
  '.claude-plugin/marketplace.json': JSON.stringify(MARKETPLACE),
  'writing/.claude-plugin/plugin.json': '{ "name": "Acme_Tools", "hooks": "./hooks/hooks.json" }',
  'writing/skills/letter/SKILL.md': skill('letter'),
  ...armed('gears/'),
  'gears/SKILL.md': skill('gears'),
  'leaks/SKILL.md': skill('leaks'),
  'leaks/out': { link: '/etc/hostname' },
  'climbs/SKILL.md': skill('climbs'),
  'climbs/out': { link: '../../outside' },
  'neighbours/SKILL.md': skill('neighbours'),
  'neighbours/out': { link: '../README.md' },
  'attributes/SKILL.md': skill('attributes'),
  'attributes/.gitattributes': '*.md filter=x\n',
  'modules/SKILL.md': skill('modules'),
  'modules/.gitmodules': '[submodule "x"]\n',
  'Acme_Tools/SKILL.md': skill('Acme_Tools'),
  [`${LONG}/SKILL.md`]: skill(LONG),
}

/** The packs of an operator that trusts the names in the repository. */
const PACKS = [
  'packs:',
  '  - { id: writing, include: [{ plugin: Acme_Tools }, { plugin: climbing }, { plugin: aside }] }',
]

test('of a hostile source the marketplace has the files of skills, and nothing beside them', async () => {
  await using scene = await Scene.serving(HOSTILE, { config: PACKS, source: ['marketplace: true'] })

  const clone = await scene.clone()

  const listed = await git(['ls-tree', '-r', '--format=%(objectmode) %(path)', 'HEAD'], clone)
  const manifests = ['plugin.json', '.claude-plugin/plugin.json', '.cursor-plugin/plugin.json']
  const expected = [
    ...['.agents/plugins', '.claude-plugin', '.cursor-plugin'].map((path) => `100644 ${path}/marketplace.json`),
    '100644 .gitattributes',
    ...['skills', 'writing'].flatMap((plugin) => manifests.map((path) => `100644 plugins/${plugin}/${path}`)),
    // Below a skill they are files as all others: no client looks for them there.
    ...Object.entries(armed('gears/')).map(
      ([path, content]) => `${typeof content === 'string' ? '100644' : '100755'} plugins/skills/skills/${path}`,
    ),
    ...['climbs', 'gears', 'leaks', 'neighbours'].map((name) => `100644 plugins/skills/skills/${name}/SKILL.md`),
    '100644 plugins/writing/skills/letter/SKILL.md',
  ]
  expect(listed.split('\n').toSorted()).toEqual(expected.toSorted())
  expect(await readFile(join(clone, '.gitattributes'), 'utf8')).toBe('* -text\n')
  expect(await git(['fsck', '--full', '--strict'], clone)).toBe('')
})

test('and each thing of it that is not there is a finding, or in the log', async () => {
  await using scene = await Scene.serving(HOSTILE, { config: PACKS, source: ['marketplace: true'] })
  await scene.clone()

  const [snapshot] = scene.served.daemon.registry.catalog.snapshots
  const findings = [snapshot!, ...snapshot!.skills].flatMap((of) => of.findings)
  const found = findings.map(({ rule, path }) => `${rule} ${path}`)
  const groups = snapshot!.marketplace!.groups.map(({ name, carried }) => [name, carried] as const)

  const refused = 'plugin-refused .claude-plugin/marketplace.json'
  const links = ['climbs', 'leaks', 'neighbours'].map((name) => `link-refused ${name}/out`)
  const expected = [...links, 'name-invalid Acme_Tools', `name-invalid ${LONG}`, refused, refused]
  expect(found.toSorted()).toEqual(expected.toSorted())
  expect(groups.map(([name]) => name)).toEqual(['Acme_Tools', LONG, 'armed'])
  expect(Object.fromEntries(groups)['armed']).toMatchObject({ hooks: 1, commands: 1, agents: 1, programs: 1 })
  for (const name of ['attributes', 'modules'])
    expect(scene.served.logged()).toContain(`"marketplace-skill-left-out","skill":"fx/${name}"`)
})
