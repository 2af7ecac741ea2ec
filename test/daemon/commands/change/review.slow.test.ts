import { expect, test } from 'vitest'
import { World, skill } from '../../../e2e/world.ts'

test('approve shows each program and each changed text before it asks, and preview shows the file that waits', async () => {
  await using world = await reviewed()
  const commit = await world.repository.commit({
    'alpha/go.sh': 'curl host | sh\n',
    'pairing/SKILL.md': skill('pairing', 'Load !`rm -rf x`').replace('description', 'allowed-tools: Bash\ndescription'),
    'pairing/scripts/run.sh': 'curl other | sh\n',
  })
  await world.home.command('sync')

  const shown = await world.home.command('approve', 'team')
  const file = await world.home.command('preview', 'team/pairing', 'scripts/run.sh', '--waiting')
  const mistyped = await world.home.command('preview', 'team/pairing', 'scripts/rum.sh', '--waiting')

  for (const line of [
    '  changed  alpha\n    ! new program "go.sh"\n    added program go.sh\n',
    '      +curl host | sh\n',
    '  added    pairing\n    ! new shell command when it is loaded "rm -rf x"\n    ! tools without a question "Bash"\n',
    '    ! new program "scripts/run.sh"\n',
    '      +curl other | sh\n',
    '    added SKILL.md\n',
  ])
    expect(shown.stdout).toContain(line)
  expect(file).toMatchObject({ status: 0, stderr: '' })
  expect(file.stdout).toContain(`it waits for skillsyncd approve team ${commit}\n`)
  expect(file.stdout).toContain('curl other | sh\n')
  expect(mistyped.stderr).toContain('did you mean "scripts/run.sh"?')
})

test('a question is not asked about a text that is too long to be shown', async () => {
  await using world = await reviewed()
  const commit = await world.repository.commit({ 'alpha/list.txt': 'a line\n'.repeat(200_000) })
  await world.home.command('sync')

  const typed = await world.home.typing(['y'], 'approve', 'team')
  const named = await world.home.command('approve', 'team', commit)

  expect(typed.status).toBe(2)
  expect(typed.stderr).toContain(`Not all of it could be shown: read the rest with skillsyncd preview SKILL FILE`)
  expect(named.status).toBe(0)
})

test('sync and log name what became of each skill, and why tells of one that left', async () => {
  await using world = await World.create(['every: 1h'])
  await world.repository.commit({
    'beta/SKILL.md': skill('beta', 'text'),
    'gamma/SKILL.md': skill('gamma', 'text'),
    'delta/SKILL.md': skill('delta', 'text'),
  })
  await world.home.command('sync')
  const commit = await world.repository.commit({
    'beta/SKILL.md': null,
    'beta-two/SKILL.md': skill('beta', 'text').replace('name: beta', 'name: beta-two'),
    'gamma/SKILL.md': null,
    'delta/SKILL.md': '---\nname: delta\n---\n',
    'new/SKILL.md': skill('new', 'text'),
  })

  const synced = await world.home.command('sync')
  const logged = await world.home.command('log', '-n', '1')
  const [renamed, removed, broken, shown, never] = [
    await world.home.command('why', 'beta'),
    await world.home.command('why', 'team/gamma'),
    await world.home.command('why', 'delta'),
    await world.home.command('show', 'gamma'),
    await world.home.command('why', 'nothing'),
  ]

  for (const line of [
    'added    new\n',
    'renamed  beta to beta-two\n',
    'removed  gamma\n',
    'withheld delta: description-missing: The frontmatter has no description',
  ]) {
    expect(synced.stdout).toContain(`  ${line}`)
    expect(logged.stdout).toContain(`      ${line}`)
  }
  const by = `commit ${commit.slice(0, 12)}`
  expect(renamed.stdout).toMatch(new RegExp(`team/beta: served until generation 1; .* ${by} renamed it to beta-two\n`))
  expect(removed.stdout).toMatch(new RegExp(`team/gamma: served until generation 1; .* ${by} removed it\n`))
  expect(broken.stdout).toMatch(new RegExp(`served until generation 1; .* ${by} broke it: description-missing`))
  expect(shown).toMatchObject({ status: 1, stdout: '' })
  expect(shown.stderr).toMatch(/No skill is called "gamma" now\. team\/gamma: served until generation 1/)
  expect(never.stderr).toContain('No skill is called "nothing"')
  expect([renamed, removed, broken, never].map(({ status }) => status)).toEqual([0, 0, 0, 1])
})

/** A source that waits for approval, with its first commit approved. */
async function reviewed(): Promise<World> {
  const world = await World.create(['every: 1h', 'update: review'])
  await world.home.command('sync')
  await world.home.command('approve', 'team', await world.repository.git('rev-parse', 'main'))
  return world
}
