import { expect, test } from 'vitest'
import { World, skill } from '../../../e2e/world.ts'

test('status has the budget of all skills and of a pack, and diff what the next commit adds', async () => {
  await using world = await World.create()
  await world.synced()
  await world.repository.commit({ 'more/SKILL.md': skill('more', 'further') })

  const status = await world.home.command('status')
  const json = JSON.parse((await world.home.command('status', '--json')).stdout)
  const diff = await world.home.command('diff', 'served', 'upstream')
  const data = JSON.parse((await world.home.command('diff', 'served', 'upstream', '--json')).stdout)

  expect(status.stdout).toMatch(
    /\nContext budget of agents:\n {2}all skills: claude-code \d+ of 23923 characters \(default model\); codex \d+ of 9568 tokens \(default model\); claude-code \d+ of 1923 characters \(with 200000 tokens\)\n/,
  )
  expect(json.budget).toMatchObject({
    clients: [{ client: 'claude-code', affected: [] }, { client: 'codex' }, { window: 200_000 }],
    packs: [],
  })
  expect(diff.stdout).toMatch(
    /\n {2}added {4}more\n[^]*\n {6}\+further\n {2}context budget: claude-code \+\d+ to \d+ of 23923 characters \(default model\); codex \+\d+ to \d+ of 9568 tokens \(default model\)\n$/,
  )
  const [claude] = data.sources[0].budget
  expect(claude.before).toBe(json.budget.clients[0].cost)
  expect(claude.after).toBeGreaterThan(claude.before)
})

test('diff with a lock has the budget if the locked skills are those that are served', async () => {
  await using world = await World.create()
  await world.synced()
  await world.home.command('lock')
  await world.repository.commit({ 'more/SKILL.md': skill('more', 'further') })

  const known = await world.home.command('diff', 'lock', 'upstream')
  await world.home.command('update')
  const same = await world.home.command('diff', 'lock', 'served')

  expect(known.stdout).toContain('  context budget: claude-code +')
  expect(same.stdout).toBe('no difference\n')
})
