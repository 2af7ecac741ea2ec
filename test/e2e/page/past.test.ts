import { expect, test } from 'vitest'
import { ask } from '../../serve/http/ask.ts'
import { World, skill } from '../world.ts'

test('what a skill said earlier is shown line by line', async () => {
  expect(await differenceOf(['every: 1h'], { rest: ['lock: ignore'] })).toContain('<del>- first</del>')
})

test('where a source has an entry in a lock that is followed, what its skills said earlier is shown to nobody', async () => {
  const text = await differenceOf(['every: 1h'])

  expect(text).toMatch(/alpha[^]*changed/)
  expect(text).not.toContain('<del>')
})

test('where a lock binds a source, what its skills said earlier is shown to nobody', async () => {
  const text = await differenceOf(['every: 1h', 'update: locked'])

  expect(text).toMatch(/alpha[^]*changed/)
  expect(text).not.toContain('<del>')
})

test('what a skill said is shown no longer once it is disabled', async () => {
  const text = await differenceOf(['every: 1h'], { rest: ['lock: ignore'], command: ['disable', 'team/alpha'] })

  expect(text).toMatch(/alpha[^]*changed/)
  expect(text).not.toContain('<del>')
})

test('a skill that was in the lists earlier is named no longer once it is in none', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  await world.synced()
  const nameless = { 'alpha/for-tools/SKILL.md': skill('No Name For A URI', 'new') }
  await repository.commit({
    'alpha/SKILL.md': skill('alpha', 'second'),
    'beta/SKILL.md': skill('beta', 'new'),
    ...nameless,
  })
  await world.synced()
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h', 'unlisted: ["alpha/**"]'] })
  await world.synced()
  const { origin } = new URL(await home.start('start').line())

  for (const between of ['from=1&to=2', 'from=0&to=3', 'from=2&to=3'])
    expect((await ask(origin, `/changes?${between}`)).text, between).not.toMatch(/alpha|No Name/)
})

/** What the page says of the second generation, after a command. */
async function differenceOf(
  source: readonly string[],
  { rest = [], command = [] }: { readonly rest?: readonly string[]; readonly command?: readonly string[] } = {},
): Promise<string> {
  await using world = await World.create(source)
  const { home, repository, git } = world
  await home.configure({ team: [`url: ${git.origin}/team.git`, ...source] }, rest)
  expect(await home.command('lock')).toMatchObject({ status: 0 })
  await world.synced()
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  expect(await home.command('update')).toMatchObject({ status: 0 })
  await world.synced()
  if (command.length > 0) await home.command(...command)
  const daemon = home.start('start')
  const { origin } = new URL(await daemon.line())
  return (await ask(origin, '/changes?from=1&to=2')).text
}
