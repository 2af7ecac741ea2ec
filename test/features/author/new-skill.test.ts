import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Home } from '../../support/process/program.ts'

test.each([
  ['a placeholder', [], 4],
  ['its description', ['--description', 'Writes: "reports" # of incidents. Use when one is over.'], 3],
] as const)(
  'the skeleton with %s has no error, and what is still to be written is warned of',
  async (_, options, left) => {
    await using home = await Home.create()
    const folder = join(home.path, 'skills', 'incident-report')

    const end = await home.command('skill', 'new', folder, ...options)
    const checked = await home.command('skill', 'validate', '--strict', '--json', folder)

    expect(end).toMatchObject({ status: 0, stderr: '' })
    expect(end.stdout).toContain('skillsyncd skill validate ')
    const { summary, skills } = JSON.parse(checked.stdout)
    expect(summary).toMatchObject({ skills: 1, errors: 0, warnings: left })
    expect(skills).toMatchObject([{ name: 'incident-report' }])
    expect(checked.stdout).toContain('skeleton-text')
    const file = join(folder, 'SKILL.md')
    const text = await readFile(file, 'utf8')
    const own = text
      .replace(
        'Describe here what the skill does. Use when a task needs exactly that.',
        'Writes reports. Use when one is due.',
      )
      .replace(/^[12]\. .*$|^Say how .*$/gm, 'Write it.')
    await writeFile(file, own)
    expect((await home.command('skill', 'validate', '--strict', folder)).status).toBe(0)
  },
)

test('a folder that exists is not touched, whatever is in it', async () => {
  await using home = await Home.create()
  const folder = join(home.path, 'report')
  await mkdir(folder)
  await writeFile(join(folder, 'notes.md'), 'mine')

  const end = await home.command('skill', 'new', folder)

  expect(end).toMatchObject({ status: 2, stdout: '' })
  expect(end.stderr).toContain('it is there already')
  expect(await readFile(join(folder, 'notes.md'), 'utf8')).toBe('mine')
  await expect(readFile(join(folder, 'SKILL.md'))).rejects.toThrow('ENOENT')
})

test.each(['Report', 'a--b', '-a', 'a b', 'ä', 'a'.repeat(65)])('%j is no name of a skill', async (name) => {
  await using home = await Home.create()

  const end = await home.command('skill', 'new', join(home.path, name))

  expect(end.status).toBe(2)
  expect(end.stderr).toContain('Cannot name a skill')
})

test('a path that cannot be written is refused with the reason', async () => {
  await using home = await Home.create()
  await writeFile(join(home.path, 'file'), '')

  const end = await home.command('skill', 'new', join(home.path, 'file', 'report'))

  expect(end).toMatchObject({ status: 2, stdout: '' })
  expect(end.stderr).toMatch(/^skillsyncd: Cannot write ".*report.*": a part of the path is not a folder/)
})

test('a name is wanted, and an empty description is refused', async () => {
  await using home = await Home.create()

  expect((await home.command('skill', 'new')).stderr).toContain('"skill new" wants a name')
  expect((await home.command('skill', 'new', join(home.path, 'a'), '--description', ' ')).stderr).toContain(
    '--description is empty',
  )
})
