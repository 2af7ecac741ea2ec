import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/async/clock.ts'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { usagePathIn } from '../../../src/features/usage/usage-database.ts'
import { UsageRecorder } from '../../../src/features/usage/usage-recorder.ts'
import { World } from '../../e2e/world.ts'

test('a pipe gets the heads too, and use by principals says that they are not counted', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  const stream = { write: () => true }
  const log = createLog({
    level: 'error',
    stream,
    format: 'json',
    journal: false,
    clock: systemClock,
    redactor: new Redactor(),
  })
  {
    const config = { principals: false, days: 400 }
    await using recorder = new UsageRecorder(usagePathIn(home.state), config, log, systemClock)
    const part = { source: 'team', path: 'alpha', digest: 'c1', isDocument: true }
    recorder.count({ part, client: 'one', principal: 'ada#0a1b', serving: {} })
  }

  const bySkill = await home.command('list', '--usage')
  const byPrincipal = await home.command('list', '--usage', '--by', 'principal')

  expect(bySkill.stdout).toMatch(/^SKILL +LISTS +LOADS +READS +FAILURES\nteam\/alpha +0 +1 +0 +0\n$/)
  expect(bySkill.stderr).not.toContain('principals')
  expect(byPrincipal.stderr).toContain(
    'principals are not counted: the configuration has no usage: { principals: true }\n',
  )
})
