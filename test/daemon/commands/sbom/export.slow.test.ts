import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { expect, test } from 'vitest'
import { World } from '../../../e2e/world.ts'

const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6)

test('the SBOM of what is served is valid by the official schema, and says of each skill where it is from', async () => {
  await using world = await World.create()
  const commit = await world.repository.commit({ 'alpha/SKILL.md': licensed('MIT'), 'alpha/run.sh': 'echo' })
  await world.synced()

  const end = await world.home.command('hub', 'export')

  expect(end).toMatchObject({ status: 0, stderr: '' })
  expect(await validator.validate(end.stdout)).toBeNull()
  const { metadata, components, serialNumber } = JSON.parse(end.stdout)
  const { skills } = JSON.parse((await world.home.command('list', '--json')).stdout)
  expect(metadata.component).toMatchObject({ name: 'skills', version: '1' })
  expect(serialNumber).toMatch(/^urn:uuid:/)
  expect(components).toMatchObject([
    {
      name: 'alpha',
      group: 'team',
      version: commit,
      'bom-ref': 'team/alpha',
      hashes: [{ alg: 'SHA-256', content: skills[0].digest.replace(/^.*:/, '') }],
      licenses: [{ license: { id: 'MIT' } }],
      externalReferences: [{ type: 'vcs', url: `${world.git.origin}/team.git` }],
      components: [{ name: 'SKILL.md', type: 'file' }, { name: 'run.sh' }],
    },
  ])
  expect(components[0].purl).toContain(`pkg:generic/alpha@${commit}?vcs_url=`)
})

test.each(['cyclonedx', 'spdx'])(
  'the same generation has the same bytes as %s, whoever asks and when',
  async (format) => {
    await using world = await World.create()
    const { home, repository } = world
    await world.synced()
    const file = join(home.path, 'sbom.json')
    const first = await home.command('hub', 'export', '--format', format)
    await repository.commit({ 'alpha/SKILL.md': licensed('some words of their own') })
    await world.synced()

    const again = await home.command('hub', 'export', '--format', format, '--generation', '1', '--output', file)
    const next = await home.command('hub', 'export', '--format', format)

    expect([first.status, again.status, again.stdout]).toEqual([0, 0, ''])
    expect(await readFile(file, 'utf8')).toBe(first.stdout)
    expect(next.stdout).not.toBe(first.stdout)
    expect(next.stdout).toContain('some words of their own')
  },
)

test('a symbolic link in the place of the output is replaced, and the file that it leads to stays as it is', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  const [target, output] = [join(home.path, 'target'), join(home.path, 'sbom.json')]
  await writeFile(target, 'mine')
  await symlink(target, output)

  const ended = await home.command('hub', 'export', '--output', output)

  expect(ended.status).toBe(0)
  expect(await readFile(target, 'utf8')).toBe('mine')
  expect(JSON.parse(await readFile(output, 'utf8'))).toMatchObject({ bomFormat: 'CycloneDX' })
})

test('what cannot be exported is told, and nothing is written', async () => {
  await using world = await World.create()
  const { home } = world

  const ends = [
    await home.command('hub', 'export'),
    (await world.synced(), await home.command('hub', 'export', '--generation', '99')),
    await home.command('hub', 'export', '--generation', 'first'),
    await home.command('hub', 'export', '--format', 'yaml'),
    await home.command('hub', 'export', '--output', ''),
    await home.command('hub', 'export', '--output', join(home.path, 'no', 'folder', 'sbom.json')),
  ]

  expect(ends.map(({ status, stdout }) => [status, stdout])).toEqual([1, 1, 2, 2, 2, 1].map((status) => [status, '']))
  expect(ends[0]?.stderr).toContain('try skillsyncd sync')
  expect(ends[1]?.stderr).toContain('skillsyncd log')
})

function licensed(license: string): string {
  return `---\nname: alpha\ndescription: alpha of the tests\nlicense: ${license}\n---\nbody\n`
}
