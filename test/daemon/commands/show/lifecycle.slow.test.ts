import { expect, test } from 'vitest'
import { World } from '../../../e2e/world.ts'

test('list, show and diff say that a skill is deprecated, and the prompt for models too', async () => {
  await using world = await World.create()
  await world.synced()
  await world.repository.commit({
    'alpha/SKILL.md': living('alpha', ['deprecated: "gone in May"', 'replaced-by: beta']),
  })
  const difference = await world.home.command('diff', 'served', 'upstream')
  const asJson = await world.home.command('diff', 'served', 'upstream', '--json')
  await world.synced()

  const list = await world.home.command('list')
  const shown = await world.home.command('show', 'alpha')
  const row = JSON.parse((await world.home.command('show', 'alpha', '--json')).stdout)
  const prompt = await world.home.command('list', '--prompt')

  expect(difference.stdout).toContain('    ! declares "deprecated: gone in May"\n    · declares "replaced-by: beta"\n')
  expect(JSON.parse(asJson.stdout).sources[0].changes[0].notes).toMatchObject([
    { text: 'declares', values: ['deprecated: gone in May'] },
    { text: 'declares', values: ['replaced-by: beta'] },
  ])
  expect(list.stdout).toContain('served, deprecated')
  expect(shown.stdout).toContain('  - deprecated: gone in May\n  - replaced-by: beta\n')
  expect(row.lifecycle).toEqual({ deprecated: 'gone in May', replacedBy: 'beta' })
  expect(row.description).toBe('alpha of the tests')
  expect(prompt.stdout).toContain('[Deprecated; use beta instead: gone in May] alpha of the tests')
})

test('a pack does not grow with depends_on: lock and doctor name what it lacks', async () => {
  await using world = await World.create()
  await world.repository.commit({
    'alpha/SKILL.md': living('alpha', ['depends_on: beta gamma']),
    'beta/SKILL.md': living('beta', ['owner: docs']),
  })
  await world.home.configure({ team: [`url: ${world.git.origin}/team.git`, 'every: 1h'] }, [
    'packs: [{ id: crew, include: [{ name: alpha }] }]',
  ])
  await world.synced()

  const locked = await world.home.command('lock')
  const seen = await world.home.command('list', '--pack', 'crew')
  const checked = await world.home.command('doctor', '--offline')

  expect(locked).toMatchObject({ status: 0 })
  expect(locked.stdout).toContain(
    'pack crew: 1 skill\n  lacks "beta" (team/beta), needed by team/alpha; add it to "include" of the pack',
  )
  expect(locked.stdout).toContain('  lacks "gamma", needed by team/alpha; no source has a skill of that name')
  expect(seen.stdout).not.toContain('team/beta')
  expect(checked.stdout).toContain('pack "crew" lacks "beta" (team/beta)')
  expect(checked.stdout).toContain('dependency-missing: "alpha" depends on "gamma"')
})

function living(name: string, metadata: readonly string[]): string {
  const lines = metadata.map((line) => `  ${line}`).join('\n')
  return `---\nname: ${name}\ndescription: ${name} of the tests\nmetadata:\n${lines}\n---\nDo it.\n`
}
