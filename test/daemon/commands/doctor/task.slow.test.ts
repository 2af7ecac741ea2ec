import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { CheckResult } from '../../../../src/daemon/cli/check.ts'
import { World, skill } from '../../../e2e/world.ts'
import { checksIn, faultsIn } from '../../../support/checks.ts'

async function examined({ home }: World): Promise<readonly CheckResult[]> {
  return checksIn((await home.command('doctor', '--json')).stdout)
}

test('a lock with the marks of a merge is a failure, and is well after what the message says', async () => {
  await using world = await World.create()
  await world.synced()
  await world.home.command('lock')
  const text = await readFile(world.home.lockFile, 'utf8')
  await writeFile(world.home.lockFile, `<<<<<<< HEAD\n${text}=======\n{}\n>>>>>>> other\n`)

  const doctor = await world.home.command('doctor')
  const sync = await world.home.command('sync')

  expect(doctor).toMatchObject({
    status: 3,
    stdout: expect.stringMatching(/^fail {2}lock-unreadable: .*line 1.*choose one side/m),
  })
  expect(sync.status).toBe(1)
  await writeFile(world.home.lockFile, text)
  expect(await world.home.command('lock')).toMatchObject({ status: 0 })
  expect(await world.home.command('doctor')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('ok    lock: '),
  })
})

test.each([[true], [false]])(
  'a repository that answers 404 is a failure with the cause and the fix of sync, with a daemon: %s',
  async (isRunning) => {
    await using world = await World.create()
    const { home, git, repository } = world
    await home.configure({ vendor: [`url: ${git.origin}/nothing.git`, 'every: 1h'] })
    if (isRunning) await home.start('start').line()

    const synced = JSON.parse((await home.command('sync', '--json')).stdout)
    const doctor = await home.command('doctor', '--json')

    const [
      {
        problem: { code, message, fix },
      },
    ] = synced.sources
    expect(doctor.status).toBe(3)
    expect(faultsIn(doctor.stdout)).toContainEqual({
      check: code,
      subject: 'vendor',
      verdict: 'fail',
      message,
      fix,
    })
    await home.configure({ vendor: [`url: ${git.serve('there', repository)}`, 'every: 1h'] })
    if (isRunning) await home.command('reload')
    await home.command('sync')
    expect(faultsIn((await home.command('doctor', '--json')).stdout)).toEqual([])
  },
)

test('no message of a source that cannot be read says to sync it', async () => {
  await using world = await World.create()
  await world.home.configure({ vendor: [`url: ${world.git.origin}/nothing.git`, 'every: 1h'] })

  const { stdout } = await world.home.command('doctor', 'vendor')

  expect(stdout).toContain('fail  repository-not-found vendor')
  expect(stdout).not.toContain('brings it')
})

test('skills that are withheld and disabled are named with the code and the fix', async () => {
  await using world = await World.create()
  await world.repository.commit({ 'odd/SKILL.md': 'no frontmatter\n', 'beta/SKILL.md': skill('beta', 'b') })
  await world.synced()
  await world.home.command('disable', 'team/beta')

  const found = await examined(world)

  expect(found).toContainEqual({
    check: 'frontmatter-missing',
    subject: 'team/odd',
    verdict: 'warn',
    message: expect.stringMatching(/^withheld: /),
    fix: expect.stringContaining('---'),
  })
  expect(found).toContainEqual({
    check: 'disabled',
    subject: 'team/beta',
    verdict: 'ok',
    message: expect.stringContaining('skillsyncd enable team/beta'),
  })
})

test('a recalled skill that a lock names is a failure', async () => {
  await using world = await World.create()
  await world.synced()
  await world.home.command('lock')
  const recalled = await world.home.command('disable', 'team/alpha', '--followers', '--reason', 'leaks')

  const found = await examined(world)

  expect(recalled.status).toBe(0)
  expect(found).toContainEqual(
    expect.objectContaining({
      check: 'skill-recalled',
      subject: 'team',
      verdict: 'fail',
      message: expect.stringContaining('leaks'),
    }),
  )
})

test('what needs a person by status is found, each by the code that status has', async () => {
  await using world = await World.create()
  await world.synced()
  await world.home.configure({ team: [`url: ${world.git.serve('team', world.repository)}`, 'update: review'] })
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  await world.home.command('sync')

  const checked = await world.home.command('status', '--check', '--json')
  const found = await examined(world)

  const [{ problem }] = JSON.parse(checked.stdout).sources
  expect(checked.status).toBe(3)
  expect(found).toContainEqual(
    expect.objectContaining({ check: problem.code, subject: 'team', verdict: 'warn', fix: problem.fix }),
  )
})
