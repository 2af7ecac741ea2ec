import { describe, expect, test } from 'vitest'
import { skillText, type Files } from '../../support/git/scripted-upstream.ts'
import { noted, skillAt, surveyed, type Edited } from './surveyed.ts'

const PDF: Files = { 'pdf/SKILL.md': skillText('pdf'), 'pdf/ref.md': 'ref', 'pdf/run.sh': { executable: 'run' } }

/** What becomes of a link in the skill `pdf`, beside its own files. */
async function linked(at: string, link: string | Uint8Array, more: Files = {}): Promise<string> {
  const found = await surveyed({ ...PDF, 'out/secret': 'secret', ...more, [`pdf/${at}`]: { link } })
  const { standing, files, findings } = skillAt(found, 'pdf')
  expect(standing).toBe('served')
  const file = files.find(({ path }) => path === at)
  if (file === undefined) return findings.find(({ path }) => path === `pdf/${at}`)?.message ?? 'nothing is said of it'
  expect(noted(findings)).toEqual([])
  return `${file.link === true ? 'link' : 'file'} of ${file.size} bytes${file.executable ? ', executable' : ''}`
}

test('a link beside the skills that leads out of the repository is told, as many as anybody reads', async () => {
  const links = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [`l${index + 10}`, { link: index % 2 === 0 ? '/etc' : '../..' }] as const),
  )
  const harmless = {
    'to-file': { link: 'pdf/SKILL.md' },
    'to-nothing': { link: 'nothing' },
    'left-out': { link: '/etc' },
  }

  const { findings } = await surveyed({ ...PDF, ...links, ...harmless }, { exclude: ['left-out'] })

  expect(findings).toHaveLength(33)
  expect(findings[0]).toEqual({
    rule: 'link-refused',
    path: 'l10',
    message: 'The link is not served: its target "/etc" is outside the repository',
  })
  expect(findings.at(-1)?.message).toBe('8 more links that lead out of the repository are not served')
})

describe('a link among the files of a skill', () => {
  test.each([
    ['to a file beside it', 'alias', 'ref.md', {}, 'link of 3 bytes'],
    ['to a file above it', 'sub/alias', '../ref.md', {}, 'link of 3 bytes'],
    ['to a file below it', 'alias', './sub/x', { 'pdf/sub/x': 'four' }, 'link of 4 bytes'],
    ['to a file by a long way round', 'alias', './/sub/.././sub//x', { 'pdf/sub/x': 'four' }, 'link of 4 bytes'],
    ['to an executable', 'alias', 'run.sh', {}, 'link of 3 bytes, executable'],
    ['to SKILL.md', 'alias', 'SKILL.md', {}, `link of ${skillText('pdf').length} bytes`],
    ['to a link', 'alias', 'second', { 'pdf/second': { link: 'ref.md' } }, 'link of 3 bytes'],
    [
      'to a file of a skill inside',
      'alias',
      'in/x',
      { 'pdf/in/SKILL.md': skillText('in'), 'pdf/in/x': 'x' },
      'link of 1 bytes',
    ],
  ])('%s is served as that file', async (_, at, link, more, expected) => {
    expect(await linked(at, link, more as Files)).toBe(expected)
  })

  test.each([
    ['that is absolute', 'alias', '/etc/passwd', {}, /outside the repository/],
    ['that climbs out of the repository', 'alias', '../../x', {}, /outside the repository/],
    ['that climbs out and comes back', 'alias', '../../pdf/ref.md', {}, /outside the repository/],
    ['to a file outside of the skill', 'alias', '../out/secret', {}, /out of the skill/],
    ['to nothing outside of the skill, of which nothing is said', 'alias', '../out/nothing', {}, /out of the skill/],
    ['to the skill’s own folder', 'alias', '.', {}, /out of the skill/],
    ['to the folder around the skill', 'alias', '..', {}, /out of the skill/],
    ['to nothing', 'alias', 'nothing', {}, /does not exist/],
    ['to a file as if it were a folder', 'alias', 'ref.md/x', {}, /does not exist/],
    ['to a folder', 'alias', 'sub', { 'pdf/sub/x': '' }, /leads to a folder/],
    ['to itself', 'alias', 'alias', {}, /more than 8 links/],
    ['into a loop', 'alias', 'b', { 'pdf/b': { link: 'c' }, 'pdf/c': { link: 'b' } }, /more than 8 links/],
    ['through a folder that is a link', 'alias', 'sub/secret', { 'pdf/sub': { link: '../out' } }, /does not exist/],
    [
      'through a folder that is a link inside',
      'alias',
      'l/x',
      { 'pdf/sub/x': '', 'pdf/l': { link: 'sub' } },
      /does not exist/,
    ],
    ['to a link that leaves', 'alias', 'b', { 'pdf/b': { link: '../out/secret' } }, /out of the skill/],
    [
      'to a link outside that leads back',
      'alias',
      '../out/back',
      { 'out/back': { link: '../pdf/ref.md' } },
      /out of the skill/,
    ],
    ['to a submodule', 'alias', 'm', { 'pdf/m': { submodule: '5ab0'.repeat(10) } }, /is a submodule/],
    ['with a backslash', 'alias', '..\\out\\secret', {}, /outside the repository/],
    ['with a NUL', 'alias', 'ref.md\0', {}, /outside the repository/],
    ['that is empty', 'alias', '', {}, /outside the repository/],
    ['with more bytes than a path may have', 'alias', `${'./'.repeat(2048)}ref.md`, {}, /is not a path/],
    ['that differs in case', 'alias', 'REF.md', {}, /does not exist/],
  ])('%s is refused, with the reason, and the skill is served without it', async (_, at, link, more, why) => {
    expect(await linked(at, link, more as Files)).toMatch(why)
  })

  test('whose text is not UTF-8 is refused', async () => {
    expect(await linked('alias', Buffer.from([0xff, 0xfe]))).toMatch(/is not a path/)
  })

  test('leads through eight links, and not through one more', async () => {
    const chain = (length: number): Files =>
      Object.fromEntries(
        Array.from({ length }, (_, at) => [`pdf/l${at}`, { link: at + 1 === length ? 'ref.md' : `l${at + 1}` }]),
      )

    const at = skillAt(await surveyed({ ...PDF, ...chain(8) }), 'pdf')
    const over = skillAt(await surveyed({ ...PDF, ...chain(9) }), 'pdf')

    expect(at.files).toHaveLength(3 + 8)
    expect(noted(over.findings)).toEqual(['link-refused pdf/l0'])
  })

  test('of a nested skill to the outer one is the outer one’s alone', async () => {
    const found = await surveyed({ ...PDF, 'pdf/in/SKILL.md': skillText('in'), 'pdf/in/up.md': { link: '../ref.md' } })

    expect(skillAt(found, 'pdf').files.map(({ path }) => path)).toContain('in/up.md')
    expect(skillAt(found, 'pdf/in').files.map(({ path }) => path)).toEqual(['SKILL.md'])
    expect(noted(skillAt(found, 'pdf/in').findings)).toEqual(['link-refused pdf/in/up.md'])
  })
})

describe('a SKILL.md that is a link', () => {
  async function document(link: string, more: Files = {}, edit: Edited = {}): Promise<string> {
    const found = await surveyed(
      { 'root/pdf/SKILL.md': { link }, 'root/pdf/x': 'x', ...more },
      { root: 'root', ...edit },
    )
    const { standing, files, findings } = skillAt(found, 'pdf')
    if (standing !== 'served') return `${standing}: ${findings.map(({ message }) => message).join()}`
    return files.map(({ path, link }) => (link === true ? `${path}@` : path)).join()
  }

  test.each([
    ['in its own folder', 'DOC.md', { 'root/pdf/DOC.md': skillText('pdf') }, 'DOC.md,SKILL.md@,x'],
    ['elsewhere below the root', '../docs/DOC.md', { 'root/docs/DOC.md': skillText('pdf') }, 'SKILL.md@,x'],
    ['outside of the root', '../../docs/DOC.md', { 'docs/DOC.md': skillText('pdf') }, 'SKILL.md@,x'],
    [
      'by way of other links',
      '../a',
      { 'root/a': { link: '../b' }, b: { link: 'c' }, c: skillText('pdf') },
      'SKILL.md@,x',
    ],
  ])('leads to a file %s', async (_, link, more, expected) => {
    expect(await document(link, more as Files)).toBe(expected)
  })

  test.each([
    ['out of the repository', '../../../x', {}, /outside the repository/],
    ['to an absolute path', '/etc/passwd', {}, /outside the repository/],
    ['to nothing', 'nothing', {}, /does not exist/],
    ['to itself', 'SKILL.md', {}, /more than 8 links/],
    ['to a folder', '../docs', { 'root/docs/x': '' }, /leads to a folder/],
    ['to a submodule', '../m', { 'root/m': { submodule: '5ab0'.repeat(10) } }, /is a submodule/],
    ['to what is no SKILL.md', 'x', {}, /does not begin with/],
  ])('%s withholds the skill, with the reason', async (_, link, more, why) => {
    const said = await document(link, more)

    expect(said).toMatch(/^withheld: /)
    expect(said).toMatch(why)
  })

  test('to the SKILL.md of another makes a second skill of the same document', async () => {
    const found = await surveyed({ ...PDF, 'pdf-too/SKILL.md': { link: '../pdf/SKILL.md' }, 'pdf-too/own': '' })

    expect(noted(skillAt(found, 'pdf-too').findings)).toEqual(['name-clash pdf-too'])
    expect(skillAt(found, 'pdf')).toMatchObject({ standing: 'served', findings: [] })
  })
})

describe('a link to a folder', () => {
  test('that is a skill makes a skill where the link is', async () => {
    const found = await surveyed({
      'vendor/pdf/SKILL.md': skillText('pdf'),
      'vendor/pdf/ref/x': 'x',
      'skills/pdf': { link: '../vendor/pdf' },
    })

    expect(skillAt(found, 'skills/pdf')).toMatchObject({ standing: 'served', servedPath: 'skills/pdf', findings: [] })
    expect(skillAt(found, 'skills/pdf').digest).toBe(skillAt(found, 'vendor/pdf').digest)
  })

  test('outside of the root makes a skill below it', async () => {
    const files = {
      'vendor/pdf/SKILL.md': skillText('pdf'),
      'vendor/pdf/a': { link: 'b' },
      'vendor/pdf/b': 'b',
      'skills/pdf': { link: '../vendor/pdf' },
    }

    const { skills } = await surveyed(files, { root: 'skills' })

    expect(skills.map(({ path }) => path)).toEqual(['pdf'])
    expect(skills[0]?.files.map(({ path }) => path)).toEqual(['SKILL.md', 'a', 'b'])
  })

  test('has the links in it judged from where its files are', async () => {
    const files = {
      ...PDF,
      'pdf/in': { link: 'ref.md' },
      'pdf/out': { link: '../l/ref.md' },
      'l/pdf': { link: '../pdf' },
    }

    const found = await surveyed(files)

    expect(skillAt(found, 'l/pdf').files.map(({ path }) => path)).toEqual(['SKILL.md', 'in', 'ref.md', 'run.sh'])
    expect(noted(skillAt(found, 'l/pdf').findings)).toEqual(['link-refused l/pdf/out'])
  })

  test.each([
    ['that is no skill', '../docs'],
    ['that holds the link itself', '..'],
    ['that is the repository', '../'],
    ['that is not there', '../nothing'],
    ['outside the repository', '../../..'],
    ['whose SKILL.md is a folder', '../odd'],
  ])('%s makes none', async (_, link) => {
    const files = { ...PDF, 'docs/x': 'x', 'odd/SKILL.md/x': 'x', 'SKILL.md.txt': '', 'l/link': { link } }

    const { skills } = await surveyed(files)

    expect(skills.map(({ path }) => path)).toEqual(['pdf'])
  })

  test('above itself makes no skill of skills without end', async () => {
    const files = {
      'a/b/SKILL.md': skillText('b'),
      'a/l': { link: '.' },
      'a/m': { link: 'b' },
      'c/n': { link: '../a' },
    }

    const { skills } = await surveyed(files)

    expect(skills.map(({ path, standing }) => [path, standing])).toEqual([
      ['a/b', 'served'],
      ['a/m', 'withheld'],
    ])
  })
})
