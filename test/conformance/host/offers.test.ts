import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../../src/daemon/configuration.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { Home } from '../../support/process/program.ts'

const TEMPLATES = [{ uriTemplate: 'skill://docs/{product}/SKILL.md', name: 'Products' }]

test.each([
  { what: 'templates in a list of its own', index: undefined, offers: { templates: 1, archives: 0 } },
  {
    what: 'templates and archives in an index',
    index: [
      { type: 'mcp-resource-template', url: 'skill://docs/{product}/SKILL.md', description: 'd' },
      { type: 'mcp-resource-template', url: 'skill://more/{product}/SKILL.md', description: 'd' },
      { type: 'archive', name: 'refunds', url: 'skill://refunds.tar.gz', description: 'd' },
    ],
    offers: { templates: 2, archives: 1 },
  },
])('of a server with $what, status counts what is not taken', async ({ index, offers }) => {
  await using au = await offering(index)

  await using mirror = await Mirror.start({ au: `mcp: "${au.url}"` })

  expect(mirror.source('au').offers).toEqual(offers)
})

test('status names the command and the key that take what a server offers, and a skill that waits is not called served', async () => {
  await using au = await offering([
    { type: 'mcp-resource-template', url: 'skill://docs/{product}/SKILL.md', description: 'd' },
    { type: 'archive', name: 'refunds', url: 'skill://refunds.tar.gz', description: 'd' },
    { type: 'skill-md', name: 'plain', url: 'skill://plain/SKILL.md', description: 'd' },
  ])
  au.skills.setResource('skill://plain/SKILL.md', '---\nname: plain\ndescription: d\n---\nText\n')
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`] })
  await home.command('sync')

  const { stdout } = await home.command('status', '--findings')
  const doctor = await home.command('doctor', 'au', '--json')
  const list = await home.command('doctor', 'au')

  expect(stdout).toContain('  offers 1 template: skillsyncd mcp-source add au\n')
  expect(stdout).toContain('  offers 1 skill only as archives: packed: read takes them\n')
  expect(stdout).toContain('  - waiting not-verifiable au/plain: ')
  expect(list.stdout).toContain('it offers 1 template: skillsyncd mcp-source add au')
  expect(list.stdout).toContain('it offers 1 skill only as archives: packed: read takes them')
  const { checks } = JSON.parse(doctor.stdout)
  expect(checks.filter(({ check }: { readonly check: string }) => check === 'second-opinion')).toMatchObject([
    { verdict: 'ok', subject: 'au' },
  ])
})

test('add --mcp writes the entry of an MCP server, and the help names it', async () => {
  await using au = await offering(undefined)
  await using home = await Home.create()
  await home.configure({ local: ['path: /tmp'] })

  const added = await home.command('add', '--mcp', au.url, '--id', 'au')
  const again = await home.command('add', '--mcp', au.url)
  const wrong = await home.command('add', '--mcp', 'ftp://example.com/mcp')
  const { stdout } = await home.command('status', 'au')
  const help = await home.command('add', '--help')

  expect(added).toMatchObject({ status: 0, stderr: '' })
  expect(stdout).toContain(au.url)
  expect([again.status, wrong.status]).toEqual([2, 2])
  expect(again.stderr).toContain('"au" has this address already')
  expect(help.stdout).toContain('mcp: { command: acme-skills, args: [--stdio] }')
})

test('the first add --mcp writes a configuration with an MCP server, and what add --mcp adds remove takes away', async () => {
  await using au = await offering(undefined)
  await using home = await Home.create()
  const file = join(home.path, 'servers.yaml')

  const wrong = await home.run('add', '--mcp', 'ftp://example.com/mcp', '--config', file)
  const none = await home.run('add', '--mcp', '--config', file)
  const begun = await home.run('add', '--mcp', au.url, 'https://skills.example.com/mcp', '--config', file, '--json')
  const text = await readFile(file, 'utf8')
  const added = await home.run('add', '--mcp', 'https://other.example.com/mcp', '--config', file)
  const longer = await readFile(file, 'utf8')
  const removed = await home.run('remove', 'other-example-com', '--config', file)

  expect([wrong.status, none.status, begun.status, added.status, removed.status]).toEqual([2, 2, 0, 0, 0])
  expect(wrong.stderr).toContain('Cannot use the address: it ')
  expect(none.stderr).toContain('skillsyncd add --mcp https://skills.example.com/mcp')
  const [first, second] = JSON.parse(begun.stdout).added
  expect([first.mcp, second.mcp]).toEqual([au.url, 'https://skills.example.com/mcp'])
  expect(text).toContain(`# an MCP server; its skills wait for skillsyncd approve ${first.id}/`)
  expect(longer).toContain('# an MCP server; its skills wait for skillsyncd approve other-example-com/')
  expect(await readFile(file, 'utf8')).toBe(text)
  const { sources } = await readConfig({ file })
  expect(sources.map(({ source }) => source.url)).toEqual([au.url, 'https://skills.example.com/mcp'])
})

test('without a configuration, mcp names the option that needs none', async () => {
  await using home = await Home.create()

  const { stderr } = await home.run('mcp')

  expect(stderr).toContain('skillsyncd mcp --skills-dir')
})

async function offering(index: readonly object[] | undefined): Promise<HostileServer> {
  const au = await HostileServer.start()
  au.offers = 'nothing'
  au.capabilities = { resources: {} }
  au.templates = TEMPLATES
  au.on('resources/read', ({ uri }) => {
    if (uri !== 'skill://index.json' || index === undefined) return undefined
    return { contents: [{ uri, text: JSON.stringify({ skills: index }) }] }
  })
  return au
}
