import { execFileSync } from 'node:child_process'
import { chmod, cp, mkdir, readFile, readdir, rename, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { skillOf } from '../../conformance/small.ts'
import { asNobody } from '../../support/content/folder.ts'
import { Home } from '../../support/process/program.ts'
import type { Ended } from '../../support/process/program.ts'

let home: Home
let skills: string
let out: string

beforeEach(async () => {
  home = await Home.create()
  skills = join(home.path, 'skills')
  out = join(home.path, 'out')
})

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(skills, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
}

function project(...args: string[]): Promise<Ended> {
  return home.command('skill', 'project', skills, '--out', out, ...args)
}

/** The names of what was written, and nothing that the command keeps for itself. */
async function written(): Promise<string[]> {
  return (await readdir(out)).filter((name) => name !== RECORD).toSorted()
}

const RECORD = '.skillsyncd-projections.json'

describe('a folder of skills', () => {
  test('has each skill written by its name; those that cannot be are told with path and field', async () => {
    await write({
      'team/a/SKILL.md': skillOf('a'),
      'b/SKILL.md': '---\nname: b\ndescription: d\nlicense: 2.0\nmetadata: { version: 1.10 }\n---\n',
      'c/SKILL.md': '# No frontmatter\n',
      'folder-of-d/SKILL.md': skillOf('d'),
      'e/SKILL.md': skillOf('a'),
      'readme.md': 'no skill',
    })

    const ended = await home.run('skill', 'project', skills, '--out', out)
    const json = JSON.parse((await project('--json')).stdout)

    expect(ended.status).toBe(1)
    expect(await written()).toEqual(['a', 'd'])
    expect(ended.stdout).toBe(`${skills}/e to ${out}/a\n${skills}/folder-of-d to ${out}/d\n`)
    expect(ended.stderr).toContain(`! ${skills}/b/SKILL.md: license has to be a text`)
    expect(ended.stderr).toContain(`! ${skills}/b/SKILL.md: metadata.version has to be a text`)
    expect(ended.stderr).toContain(`! ${skills}/c/SKILL.md: frontmatter The file does not begin`)
    expect(ended.stderr).toContain(`! ${skills}/team/a/SKILL.md: name is that of "${skills}/e" too`)
    expect(json.skills).toMatchObject([
      { path: join(skills, 'e'), name: 'a', to: join(out, 'a'), status: 'unchanged', dropped: [], nested: [] },
      { name: 'd' },
    ])
    expect(json.failed).toMatchObject([
      { path: join(skills, 'b/SKILL.md'), field: 'license' },
      { path: join(skills, 'b/SKILL.md'), field: 'metadata.version' },
      { path: join(skills, 'c/SKILL.md'), field: 'frontmatter' },
      { path: join(skills, 'team/a/SKILL.md'), field: 'name' },
    ])
  })

  test('is looked through without following links, and not into .git and node_modules', async () => {
    await write({ 'a/SKILL.md': skillOf('a') })
    for (const [index, name] of ['.git', 'node_modules', 'a/inner'].entries())
      await write({ [`${name}/x/SKILL.md`]: skillOf(`n${index}`) })
    await mkdir(join(home.path, 'elsewhere/b'), { recursive: true })
    await writeFile(join(home.path, 'elsewhere/b/SKILL.md'), skillOf('b'))
    await symlink(join(home.path, 'elsewhere'), join(skills, 'linked'))
    await symlink('..', join(skills, 'up'))

    const ended = await project()

    expect(ended.status).toBe(0)
    expect(await written()).toEqual(['a'])
    expect(ended.stdout).toContain(`- ${skills}/a/inner/x/SKILL.md is copied as it is`)
    expect(await readFile(join(out, 'a/inner/x/SKILL.md'), 'utf8')).toBe(skillOf('n2'))
  })
})

describe('a copy', () => {
  test('has every file, executable bits and the files that links inside of it lead to; .git stays behind', async () => {
    await write({
      'a/SKILL.md': skillOf('a'),
      'a/scripts/run.sh': '#!/bin/sh\n',
      'a/references/x.md': 'x\n',
      'a/.hidden': '',
      'a/.git/config': 'secret',
    })
    await chmod(join(skills, 'a/scripts/run.sh'), 0o755)
    await symlink('../references/x.md', join(skills, 'a/scripts/x.md'))

    const ended = await project()

    expect(ended).toMatchObject({ status: 0, stderr: '' })
    const files = await readdir(join(out, 'a'), { recursive: true, withFileTypes: true })
    expect(
      files
        .filter((file) => file.isFile())
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(['.hidden', 'SKILL.md', 'run.sh', 'x.md', 'x.md'])
    expect((await stat(join(out, 'a/scripts/run.sh'))).mode & 0o111).toBe(0o111)
    expect((await stat(join(out, 'a/references/x.md'))).mode & 0o111).toBe(0)
    expect(await readFile(join(out, 'a/scripts/x.md'), 'utf8')).toBe('x\n')
  })

  test.each<[string, (folder: string) => Promise<unknown>, string]>([
    ['a link out of it', (folder) => symlink('../../secret', join(folder, 'x')), 'x'],
    ['an absolute link out of it', (folder) => symlink(join(home.path, 'secret'), join(folder, 'x')), 'x'],
    ['a link through a folder that is a link', (folder) => throughALink(folder), 'up'],
    ['a link to a folder', (folder) => symlink('references', join(folder, 'x')), 'x'],
    ['a link into .git', (folder) => symlink('.git/config', join(folder, 'x')), 'x'],
    ['a link to itself', (folder) => symlink('x', join(folder, 'x')), 'x'],
    ['a link that leads nowhere', (folder) => symlink('none', join(folder, 'x')), 'x'],
    ['a pipe', async (folder) => execFileSync('mkfifo', [join(folder, 'x')]), 'x'],
    ['a link to a pipe', (folder) => linkToPipe(folder), ''],
    ['a SKILL.md that is a link out of it', (folder) => documentOutside(folder), 'SKILL.md'],
    ['a SKILL.md that is a pipe', (folder) => documentAsPipe(folder), 'SKILL.md'],
    ['too many files', (folder) => manyFiles(folder), ''],
    ['a file that is too large', (folder) => largeFile(folder), 'x'],
  ])('is refused with %s, which is never opened; others are written', async (_, spoil, path) => {
    await write({
      'a/SKILL.md': skillOf('a'),
      'a/references/x.md': 'x',
      'a/.git/config': 'c',
      'b/SKILL.md': skillOf('b'),
    })
    await writeFile(join(home.path, 'secret'), `${skillOf('secret')}CANARY`)
    await spoil(join(skills, 'a'))

    const ended = await project()

    expect(ended.status).toBe(1)
    expect(ended.stderr).toContain(`! ${join(skills, 'a', path)}`)
    expect(await written()).toEqual(['b'])
    expect(ended.stdout + ended.stderr).not.toContain('CANARY')
  })

  test('is refused inside of what it is made from, and where what it is made from lies', async () => {
    await write({ 'a/SKILL.md': skillOf('a') })

    const inside = await home.command('skill', 'project', skills, '--out', join(skills, 'new/out'))
    const same = await home.command('skill', 'project', skills, '--out', skills)
    await symlink(skills, join(home.path, 'alias'))
    const aliased = await home.command('skill', 'project', skills, '--out', join(home.path, 'alias/out'))
    const over = await home.command('skill', 'project', join(skills, 'a'), '--out', skills)

    for (const ended of [inside, same, aliased]) expect(ended).toMatchObject({ status: 2, stdout: '' })
    expect(over).toMatchObject({ status: 1, stderr: expect.stringContaining('is at the place of its copy') })
    expect(await readdir(join(skills, 'a'))).toEqual(['SKILL.md'])
    expect(await readFile(join(skills, 'a/SKILL.md'), 'utf8')).toBe(skillOf('a'))
  })
})

describe('what is there already', () => {
  beforeEach(() => write({ 'a/SKILL.md': skillOf('a', 'One'), 'a/x.md': 'x' }))

  test('is replaced while it is as it was written, whole', async () => {
    await project()
    await rename(join(skills, 'a/x.md'), join(skills, 'a/y.md'))

    const ended = await project()
    const again = await project()

    expect(ended).toMatchObject({ status: 0, stdout: `${skills}/a to ${out}/a\n` })
    expect(again).toMatchObject({ status: 0, stdout: `${skills}/a is unchanged at ${out}/a\n` })
    expect((await readdir(join(out, 'a'))).toSorted()).toEqual(['SKILL.md', 'y.md'])
    expect(await written()).toEqual(['a'])
  })

  test.each<[string, (target: string) => Promise<unknown>]>([
    ['a file that was changed', (target) => writeFile(join(target, 'x.md'), 'mine')],
    ['a file that was added', (target) => writeFile(join(target, 'mine.md'), 'mine')],
    ['a link that was added', (target) => symlink('none', join(target, 'mine'))],
    ['a repository', (target) => mkdir(join(target, '.git')).then(() => writeFile(join(target, '.git/mine'), 'mine'))],
    ['an executable bit', (target) => chmod(join(target, 'x.md'), 0o755)],
  ])('is left alone with %s', async (_, change) => {
    await project()
    await change(join(out, 'a'))
    const before = await readdir(join(out, 'a'), { recursive: true })
    await write({ 'a/SKILL.md': skillOf('a', 'Two') })

    const ended = await project()

    expect(ended).toMatchObject({ status: 1, stderr: expect.stringContaining('is not as this command wrote it') })
    expect(await readdir(join(out, 'a'), { recursive: true })).toEqual(before)
    expect(await readFile(join(out, 'a/SKILL.md'), 'utf8')).toContain('One')
    expect(await written()).toEqual(['a'])
  })

  test.each<[string, (target: string) => Promise<unknown>]>([
    ['a folder of somebody', (target) => mkdir(target).then(() => writeFile(join(target, 'mine'), 'mine'))],
    ['a file', (target) => writeFile(target, 'mine')],
    ['a link', (target) => symlink(skills, target)],
    ['an empty folder', (target) => mkdir(target)],
  ])('is left alone where it is %s', async (_, put) => {
    await mkdir(out)
    await put(join(out, 'a'))

    const ended = await project()

    expect(ended).toMatchObject({ status: 1, stderr: expect.stringContaining('is not as this command wrote it') })
    expect(await readdir(out)).toEqual(['a'])
  })

  test.each(['{', '[]', '{"a":"b"}'])('stops the command where the record of it is damaged: %s', async (text) => {
    await project()
    await writeFile(join(out, RECORD), text)

    const ended = await project()

    expect(ended).toMatchObject({ status: 2, stderr: expect.stringContaining(RECORD) })
  })
})

describe('a path by way of links', () => {
  beforeEach(() => write({ 'a/SKILL.md': skillOf('a'), 'a/text.md': skillOf('a', 'Two'), 'b/SKILL.md': skillOf('b') }))

  test.each<[string, (skill: string) => Promise<string>]>([
    ['a link to the folder', (skill) => linkedAs(skill, join(home.path, 'link'))],
    ['SKILL.md below such a link', async (skill) => join(await linkedAs(skill, join(home.path, 'link')), 'SKILL.md')],
    ['a link of another name to SKILL.md', (skill) => linkedAs(join(skill, 'SKILL.md'), join(home.path, 'latest.md'))],
  ])('is the skill that it leads to: %s', async (_, link) => {
    const path = await link(join(skills, 'a'))

    const ended = await home.command('skill', 'project', path)
    const copied = await home.command('skill', 'project', path, '--out', out)

    expect(ended).toMatchObject({ status: 0, stderr: '' })
    expect(ended.stdout).toContain('name: "a"')
    expect(copied).toMatchObject({ status: 0 })
    expect(await written()).toEqual(['a'])
  })

  test('a SKILL.md that is a link inside of its folder is that skill, and is read through it', async () => {
    await rename(join(skills, 'a/SKILL.md'), join(skills, 'a/other.md'))
    await symlink('text.md', join(skills, 'a/SKILL.md'))

    const named = await home.command('skill', 'project', join(skills, 'a/SKILL.md'))
    const folder = await home.command('skill', 'project', join(skills, 'a'))

    expect(named).toMatchObject({ status: 0, stdout: expect.stringContaining('Two') })
    expect(folder.stdout).toBe(named.stdout)
  })

  test('a SKILL.md that is at fault is told with the same path, named itself or by its folder', async () => {
    await write({ 'a/SKILL.md': '# No frontmatter\n' })

    const ends = [
      await home.command('skill', 'project', join(skills, 'a')),
      await home.command('skill', 'project', join(skills, 'a/SKILL.md')),
    ]

    expect(ends[0]?.stderr).toMatch(`! ${skills}/a/SKILL.md: frontmatter `)
    expect(ends[1]).toEqual(ends[0])
  })

  test('a SKILL.md that leads to another skill is refused, named itself or by its folder', async () => {
    await rename(join(skills, 'a/SKILL.md'), join(skills, 'a/other.md'))
    await symlink('../b/SKILL.md', join(skills, 'a/SKILL.md'))

    const ends = [
      await home.command('skill', 'project', join(skills, 'a/SKILL.md')),
      await home.command('skill', 'project', join(skills, 'a')),
      await home.command('skill', 'project', join(skills, 'a/SKILL.md'), '--out', out),
    ]

    for (const ended of ends) {
      expect(ended).toMatchObject({ status: 1, stdout: '' })
      expect(ended.stderr).toContain(`! ${skills}/a/SKILL.md: is a link that leads out of the skill`)
    }
  })
})

describe('on stdout', () => {
  const text =
    '---\nname: a\ndescription: d\nwhen_to_use: often\nx-other: 1\n---\nA token: ghp_0123456789abcdefghijABCDEFGHIJ012345\n'
  const projected = text.replace(
    'name: a\ndescription: d\nwhen_to_use: often\nx-other: 1',
    'name: "a"\ndescription: "d"',
  )

  test('there is the one SKILL.md to the byte; what was left out is said on stderr', async () => {
    await write({ 'a/SKILL.md': text })

    const ended = await home.run('skill', 'project', join(skills, 'a'))
    const quiet = await home.command('skill', 'project', skills, '--quiet')
    const json = await home.command('skill', 'project', join(skills, 'a/SKILL.md'), '--json')

    expect(ended).toEqual({
      status: 0,
      signal: null,
      stdout: projected,
      stderr: `${skills}/a; 2 fields left out: when_to_use, x-other\n`,
    })
    expect(quiet).toMatchObject({ status: 0, stdout: projected, stderr: '' })
    expect(JSON.parse(json.stdout)).toMatchObject({
      skills: [{ name: 'a', dropped: ['when_to_use', 'x-other'], document: projected }],
      failed: [],
    })
  })

  test('there is nothing of a skill at fault', async () => {
    await write({ 'a/SKILL.md': text.replace('name: a', 'name: A B') })

    const ended = await home.command('skill', 'project', skills)
    const json = await home.command('skill', 'project', skills, '--json')

    expect(ended).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining('a/SKILL.md: name has to be'),
    })
    expect(json.status).toBe(1)
    expect(JSON.parse(json.stdout)).toMatchObject({ skills: [], failed: [{ field: 'name' }] })
  })

  test.each<[string, () => string[], string]>([
    ['no path', () => [], 'see skillsyncd skill project --help'],
    ['several skills', () => [skills], 'name a folder for them with --out'],
    ['no skill', () => [join(skills, 'none')], 'name the folder of the skill'],
    ['a path that is not there', () => [join(skills, 'nowhere')], 'there is nothing of that name; name a SKILL.md'],
    ['a SKILL.md that is not there', () => [join(skills, 'none/SKILL.md')], 'there is nothing of that name'],
    ['another file', () => [join(skills, 'none/readme.md')], 'neither a folder nor a SKILL.md; name the folder'],
    ['an unknown profile', () => [join(skills, 'a'), '--profile', 'loose'], 'strict or claude-code, not "loose"'],
    ['a profile back', () => [join(skills, 'a'), '--profile', 'strict', '--reverse'], 'exclude each other'],
    ['an empty --out', () => [join(skills, 'a'), '--out', ''], 'name one that is not inside PATH'],
    ['a file as --out', () => [join(skills, 'a'), '--out', join(skills, 'none/readme.md')], 'it is not a folder; name'],
    ['--out below a file', () => [skills, '--out', join(home.path, 'file/out')], 'a part of the path is not a folder'],
    ['two paths', () => [join(skills, 'a'), join(skills, 'b')], 'see skillsyncd skill project --help'],
  ])('a command line with %s is told so, and what to try', async (_, args, says) => {
    await write({ 'a/SKILL.md': text, 'b/SKILL.md': skillOf('b'), 'none/readme.md': 'x' })
    await writeFile(join(home.path, 'file'), '')

    const ended = await home.command('skill', 'project', ...args())

    expect(ended).toMatchObject({ status: 2, stdout: '' })
    expect(ended.stderr).toMatch(/^skillsyncd: .+\n$/)
    expect(ended.stderr).toContain(says)
  })
})

test('a projection that --reverse could not undo is not made', async () => {
  const block = 'x-personal-mcp:\n  id: a\n  version: "1.0.0"\n  capabilities: ["resource://skills/a/document"]\n'
  // Within 64 KiB, and over it once each number is `1.0e-7`.
  const numbers = Array.from({ length: 5_000 }, () => '1e-7').join(',')
  const later = `  later: [${numbers}]\n  prose: ${'x'.repeat(35_000)}\n`
  await write({ 'a/SKILL.md': `---\nname: a\ndescription: d\n${block}${later}---\n` })

  const ended = await project()

  expect(ended).toMatchObject({ status: 1, stdout: '' })
  expect(ended.stderr).toContain('frontmatter would not come back with --reverse: ')
  expect(await written()).toEqual([])
})

test('a folder that cannot be read is told by its own path, and nothing is printed beside it', async () => {
  await write({ 'one/SKILL.md': skillOf('one') })
  const closed = join(skills, 'closed')
  await mkdir(closed)

  const [beside, json] = await asNobody(closed, async () => [
    await home.command('skill', 'project', skills),
    await home.command('skill', 'project', skills, '--json'),
  ])

  const message = 'cannot be read: permission denied'
  expect(beside).toMatchObject({ status: 1, stdout: '', stderr: `! ${closed}: ${message}\n` })
  expect(JSON.parse(json.stdout)).toEqual({ skills: [], failed: [{ path: closed, message }] })
})

test('--reverse gives back a folder of skills, and refuses what is no projection', async () => {
  const block = 'x-personal-mcp:\n  id: a\n  version: "1.0.0"\n  capabilities:\n    - "resource://skills/a/document"\n'
  await write({ 'a/SKILL.md': `---\nname: "a"\ndescription: "d"\n${block}---\nbody`, 'a/x.md': 'x' })
  await project()
  const copy = join(home.path, 'copy')
  await cp(out, copy, { recursive: true })

  const undone = await home.command('skill', 'project', copy, '--reverse', '--out', join(home.path, 'undone'))
  const again = await home.command('skill', 'project', copy)
  const refused = await home.command('skill', 'project', skills, '--reverse')

  expect(undone).toMatchObject({ status: 0, stderr: '' })
  expect(await readFile(join(home.path, 'undone/a/SKILL.md'), 'utf8')).toContain('x-personal-mcp:\n  id: "a"')
  expect(await readFile(join(home.path, 'undone/a/x.md'), 'utf8')).toBe('x')
  expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining('--reverse') })
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('x-personal-mcp') })
})

async function linkedAs(target: string, link: string): Promise<string> {
  await symlink(target, link)
  return link
}

async function throughALink(folder: string): Promise<void> {
  await symlink('../..', join(folder, 'up'))
  await symlink('up/secret', join(folder, 'x'))
}

async function linkToPipe(folder: string): Promise<void> {
  execFileSync('mkfifo', [join(folder, 'pipe')])
  await symlink('pipe', join(folder, 'a-link'))
}

async function documentOutside(folder: string): Promise<void> {
  await rename(join(folder, 'SKILL.md'), join(folder, 'other.md'))
  await symlink('../../secret', join(folder, 'SKILL.md'))
}

async function documentAsPipe(folder: string): Promise<void> {
  await rename(join(folder, 'SKILL.md'), join(folder, 'other.md'))
  execFileSync('mkfifo', [join(folder, 'SKILL.md')])
}

async function manyFiles(folder: string): Promise<void> {
  for (let index = 0; index < 512; index += 1) await writeFile(join(folder, `${index}.md`), '')
}

async function largeFile(folder: string): Promise<void> {
  await writeFile(join(folder, 'x'), '')
  await truncate(join(folder, 'x'), 2 ** 24)
}
