import { expect, test } from 'vitest'
import { World, skill } from './world.ts'

test('a push between diff and approve is never served: what was approved is, or approve names what waits now', async () => {
  await using world = await World.create(['every: 1h', 'update: review'])
  const { home, repository } = world
  const first = await repository.git('rev-parse', 'main')
  const daemon = home.start('start')
  await daemon.line()
  await daemon.said((line) => line.includes('source-waiting'))

  const begun = await home.command('approve', 'team', first)
  const second = await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  await home.command('sync')
  const shown = await home.command('diff', 'served', 'upstream', '--only', 'team')
  const third = await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'third') })
  const approved = await home.command('approve', 'team', second)
  const fourth = await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'fourth') })
  await home.command('sync')
  const late = await home.command('approve', 'team', third)
  const unnamed = await home.command('approve', 'team')

  expect([begun.status, shown.status, approved.status, late.status, unnamed.status]).toEqual([0, 3, 3, 1, 2])
  expect(shown.stdout).toContain(`refs/heads/main at ${first} to refs/heads/main at ${second}`)
  expect(approved.stdout).toContain(
    `team: approved ${second}\nteam: updated, refs/heads/main at ${second.slice(0, 12)}`,
  )
  expect(approved.stdout).toContain(`skillsyncd approve team ${third} or`)
  expect(late.stderr).toContain(`Cannot approve ${third}: what waits of "team" is ${fourth}`)
  expect(unnamed.stderr).toContain(`skillsyncd approve team ${fourth}\n`)
  const { generations } = JSON.parse((await home.command('log', '--json')).stdout)
  const commits = generations.flatMap(({ sources }: { sources: { to: string }[] }) => sources.map(({ to }) => to))
  expect(new Set(commits)).toEqual(new Set([first, second]))
})
