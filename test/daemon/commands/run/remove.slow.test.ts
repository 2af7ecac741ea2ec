import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { World, skill } from '../../../e2e/world.ts'
import { Repository } from '../../../support/git/repository.ts'

test('a source that is removed is out of service at once, and the file keeps all else', async () => {
  await using world = await World.create()
  const { home } = world
  await using other = await Repository.create()
  await other.commit({ 'beta/SKILL.md': skill('beta', 'first') })
  const before = await readFile(home.configFile, 'utf8')
  const daemon = home.start('start')
  await daemon.line()
  expect(await home.command('add', world.git.serve('kit', other))).toMatchObject({ status: 0 })
  await home.command('sync')

  const removed = await home.command('remove', 'kit')

  expect(removed).toMatchObject({ status: 0, stderr: '' })
  expect(removed.stdout).toContain('removed kit\n')
  expect(removed.stdout).toContain('the daemon applies it\n')
  expect(await readFile(home.configFile, 'utf8')).toBe(before)
  const { skills } = JSON.parse((await home.command('list', '--served', '--json')).stdout)
  expect(skills.map(({ name }: { name: string }) => name)).toEqual(['alpha'])
})

test('without a daemon the next start applies it, and --json names what was removed', async () => {
  await using world = await World.create()
  const { home } = world
  await writeFile(
    home.configFile,
    (await readFile(home.configFile, 'utf8')).replace('serve:', '  - { id: kit, path: /tmp }\nserve:'),
  )

  const removed = await home.command('remove', 'kit', '--json')

  expect(removed.status).toBe(0)
  expect(JSON.parse(removed.stdout)).toEqual({ config: home.configFile, removed: ['kit'], reloaded: false })
})

test('a disabled source is removed by its id', async () => {
  await using world = await World.create()
  const { home } = world
  const before = await readFile(home.configFile, 'utf8')
  await writeFile(home.configFile, before.replace('serve:', '  - { id: kit, path: /tmp, enabled: false }\nserve:'))

  const removed = await home.command('remove', 'kit')

  expect(removed).toMatchObject({ status: 0, stderr: '' })
  expect(await readFile(home.configFile, 'utf8')).toBe(before)
})

test('what is no source, the last source and what another key needs are refused, and the file stays', async () => {
  await using world = await World.create()
  const { home } = world
  const before = await readFile(home.configFile, 'utf8')
  const text = before.replace(
    'serve:',
    '    update: locked\n    fallback: kit\n  - { id: kit, mcp: https://hub.example.com/mcp }\nserve:',
  )
  await writeFile(home.configFile, text)

  const ends = [
    await home.command('remove'),
    await home.command('remove', 'nope'),
    await home.command('remove', 'kit', 'team'),
    await home.command('remove', 'kit'),
  ]

  expect(ends.map(({ status }) => status)).toEqual([2, 2, 2, 2])
  expect(ends[0]?.stderr).toContain('wants the id of a source: team, kit')
  expect(ends[1]?.stderr).toContain('No source is called "nope"')
  expect(ends[2]?.stderr).toContain('Cannot remove every source')
  expect(ends[3]?.stderr).toContain('Cannot remove: ')
  expect(await readFile(home.configFile, 'utf8')).toBe(text)
})
