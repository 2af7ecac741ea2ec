import { describe, expect, test } from 'vitest'
import { strayLinks } from '../../../src/sync/model/snapshot.ts'
import { tallyOf, UNDECIDED_SKILLS } from '../../../src/sync/model/verdict/skill-states.ts'
import { contractFrontmatter, documentOf } from '../../support/content/contract-fixture.ts'
import { cpuSeconds } from '../../support/effort.ts'
import { skillText, treeId, blobId, type Files } from '../../support/git/scripted-upstream.ts'
import { Lots, Surveys, noted, rulesWith, skillAt, surveyed } from './surveyed.ts'

const PDF = { 'pdf/SKILL.md': skillText('pdf'), 'pdf/ref.md': 'ref' }

describe('an incremental survey', () => {
  test('lists no folder that is as it was, and takes no blob that it has seen', async () => {
    const files = { ...PDF, 'group/a/SKILL.md': skillText('a'), 'group/b/SKILL.md': skillText('b'), 'docs/x/y.md': 'y' }
    await using surveys = await Surveys.open()
    await surveys.next(files, rulesWith())
    const { upstream } = surveys
    const [listed, taken] = [upstream.listed.length, upstream.taken.length]

    const next = { ...files, 'group/a/new.md': 'new', 'group/a/copy.md': 'ref' }
    const { skills } = await surveys.next(next, rulesWith())

    expect(skills).toHaveLength(3)
    const again = upstream.listed.slice(listed)
    for (const path of ['pdf', 'group/b', 'docs']) expect(again).not.toContain(treeId(files, path))
    expect(new Set(again)).toEqual(new Set(['', 'group', 'group/a'].map((path) => treeId(next, path))))
    expect(upstream.taken.slice(taken)).toEqual([blobId('new')])
  })

  test('asks for nothing where the tree is the same', async () => {
    await using surveys = await Surveys.open()
    const before = await surveys.next(PDF, rulesWith())
    const { upstream } = surveys
    const [listed, taken] = [upstream.listed.length, upstream.taken.length]

    const after = await surveys.next({ ...PDF }, rulesWith())

    expect(after).toEqual({ ...before, revision: after.revision })
    expect([upstream.listed.length, upstream.taken.length]).toEqual([listed, taken])
  })

  test('takes each blob once, however many files have it', async () => {
    await using surveys = await Surveys.open()

    await surveys.next(
      { ...PDF, 'pdf/copy.md': 'ref', 'xls/SKILL.md': skillText('xls'), 'xls/ref.md': 'ref' },
      rulesWith(),
    )

    expect(surveys.upstream.taken).toHaveLength(3)
    expect(surveys.upstream.counts.take).toBe(1)
  })

  test('takes no blob that lies in no skill', async () => {
    await using surveys = await Surveys.open()

    await surveys.next({ ...PDF, 'README.md': 'read', 'src/main.c': 'int' }, rulesWith())

    expect(new Set(surveys.upstream.taken)).toEqual(new Set([blobId(skillText('pdf')), blobId('ref')]))
  })

  test.each([
    ['names', { names: 'exact' }],
    ['include', { include: ['p*'] }],
    ['exclude', { exclude: ['x'] }],
    ['unlisted', { unlisted: ['x'] }],
    ['lfs', { lfs: 'pointers' }],
    ['a limit', { limits: { skill: { files: 10, bytes: 1000 } } }],
  ] as const)('looks at everything again where %s was edited', async (_, edit) => {
    await using surveys = await Surveys.open()
    await surveys.next(PDF, rulesWith())
    const listed = surveys.upstream.listed.length

    const { rules } = await surveys.next(PDF, rulesWith(edit))

    expect(rules).not.toBe((await surveyed(PDF)).rules)
    expect(new Set(surveys.upstream.listed.slice(listed))).toEqual(
      new Set(['', 'pdf'].map((path) => treeId(PDF, path))),
    )
  })

  test('brings back a skill when the one that stood in its place is gone', async () => {
    await using surveys = await Surveys.open()
    const both = { 'g/a/SKILL.md': skillText('x'), 'g/x/SKILL.md': skillText('x', '', 'other') }
    const clash = await surveys.next(both, rulesWith())

    const { skills } = await surveys.next({ 'g/a/SKILL.md': skillText('x') }, rulesWith())

    expect(noted(skillAt(clash, 'g/a').findings)).toEqual(['name-clash g/a'])
    expect(skills.map(({ servedPath, standing }) => [servedPath, standing])).toEqual([['g/x', 'served']])
  })

  test('looks again where a link leads that is as it was', async () => {
    await using surveys = await Surveys.open()
    const links = {
      'g/x/pdf': { link: '../../v/pdf' },
      'g/y/SKILL.md': { link: '../../v/DOC.md' },
      'g/x/none': { link: 'x' },
    }
    const states = [
      {},
      { 'v/pdf/SKILL.md': skillText('pdf') },
      { 'v/pdf/SKILL.md': skillText('pdf'), 'v/pdf/ref.md': 'ref', 'v/DOC.md': skillText('y') },
      { 'v/pdf/SKILL.md': '# none', 'v/DOC.md': skillText('z') },
    ]

    for (const state of states) {
      const found = await surveys.next({ ...links, ...state }, rulesWith())

      expect(found.skills).toEqual((await surveyed({ ...links, ...state })).skills)
    }
  })

  test('still follows a link into a folder that is as it was', async () => {
    await using surveys = await Surveys.open()
    const files = {
      ...PDF,
      'pdf/alias.md': { link: 'ref.md' },
      'l/SKILL.md': { link: '../pdf/DOC.md' },
      'pdf/DOC.md': { link: 'l.md' },
      'pdf/l.md': skillText('l'),
    }
    const before = await surveys.next(files, rulesWith())

    const after = await surveys.next({ ...files, 'README.md': 'an unrelated commit' }, rulesWith())

    expect(skillAt(before, 'l').standing).toBe('served')
    expect(after.skills).toEqual(before.skills)
  })
})

describe('a survey of thousands of files', () => {
  const names = Array.from({ length: 90 }, (_, index) => `skill-${index}`)
  const files = Object.fromEntries(
    names.flatMap((name) => [
      [`${name}/SKILL.md`, skillText(name)],
      ...Array.from({ length: 99 }, (_, index) => [`${name}/${index}.md`, `${name} ${index}`]),
    ]),
  )

  test('reads the skills of a lot while it fetches the next, and takes each file once', async () => {
    await using scene = await Lots.of(files)
    const takes: number[] = []
    const read = Promise.withResolvers<void>()
    scene.upstream.heldTake = { number: 2, until: read.promise }

    const { skills } = await scene.survey(() => {
      takes.push(scene.upstream.counts.take)
      if (takes.length === 40) read.resolve()
    })

    expect(Math.max(...takes.slice(0, 40))).toBe(2)
    expect(takes).toHaveLength(90)
    expect(skills.map(({ path, standing }) => `${path} ${standing}`).toSorted()).toEqual(
      names.map((name) => `${name} served`).toSorted(),
    )
    expect(scene.upstream.taken).toHaveLength(9000)
    expect(new Set(scene.upstream.taken).size).toBe(9000)
  })

  test('reads a skill as soon as its files are stored, while others of the same lot are fetched', async () => {
    await using scene = await Lots.of({ 'a/SKILL.md': skillText('a'), 'b/SKILL.md': skillText('b') })
    const read = Promise.withResolvers<void>()
    scene.upstream.heldTake = { number: 1, until: read.promise }

    const { skills } = await scene.survey(() => read.resolve())

    expect(skills.map(({ path, standing }) => `${path} ${standing}`)).toEqual(['a served', 'b served'])
  })

  test('ends at once with what went wrong, and what is fetched meanwhile is given up', async () => {
    await using scene = await Lots.of(files)
    scene.upstream.endlessTake = 2

    const surveying = scene.survey(() => {
      throw new Error('no thread')
    })

    await expect(surveying).rejects.toThrow('no thread')
    expect(scene.upstream.counts.take).toBe(2)
  })
})

describe('the selection', () => {
  const files = {
    'a/SKILL.md': skillText('a'),
    'drafts/b/SKILL.md': skillText('b'),
    '.c/d/SKILL.md': skillText('d'),
    'SKILL.md': skillText('all'),
  }

  test.each([
    [{}, ['', '.c/d', 'a', 'drafts/b']],
    [{ exclude: ['drafts/**'] }, ['', '.c/d', 'a']],
    [{ include: ['*'] }, ['a']],
    [{ include: ['drafts/*', 'a'] }, ['a', 'drafts/b']],
    [{ include: ['**'], exclude: ['**'] }, []],
    [{ include: [] }, []],
  ])('%j takes the skills at %j', async (edit, expected) => {
    const { skills } = await surveyed(files, edit)

    expect(skills.map(({ path }) => path)).toEqual(expected)
  })

  test('below a root has paths from there', async () => {
    const { skills } = await surveyed(
      { 'x/y/a/SKILL.md': skillText('a'), 'b/SKILL.md': skillText('b') },
      { root: 'x/y' },
    )

    expect(skills.map(({ path, servedPath }) => [path, servedPath])).toEqual([['a', 'a']])
  })

  test.each(['nowhere', 'pdf/SKILL.md', 'pdf/ref.md/x', 'PDF'])(
    'refuses the root %j, which is no folder',
    async (root) => {
      await expect(surveyed(PDF, { root })).rejects.toMatchObject({ code: 'root-not-found', place: 'root' })
    },
  )

  test.each([
    ['a link to the folder', '.claude/skills', { '.claude/skills': { link: '../.agents/skills' } }],
    ['a link above it', '.claude/skills', { '.claude': { link: '.agents' } }],
    ['a link to a link', 'a', { a: { link: 'b' }, b: { link: './c/../.agents/skills/' } }],
    [
      'a link behind a link',
      'x/y',
      { x: { link: 'z' }, 'z/y': { link: '../in/s' }, in: { link: '.agents' }, '.agents/s': { link: 'skills' } },
    ],
    ['a link to the folder of one skill', 'x', { x: { link: '.agents/skills/pdf' } }],
  ] as const)('follows %s', async (_, root, links) => {
    const files = { '.agents/skills/pdf/SKILL.md': skillText('pdf'), '.agents/skills/pdf/alias': { link: 'SKILL.md' } }

    const { skills, roots } = await surveyed({ ...files, ...links }, { root })

    const path = root === 'x' ? '' : 'pdf'
    expect(skills.map((skill) => [skill.path, skill.standing])).toEqual([[path, 'served']])
    expect(roots).toEqual({ skills: path === '' ? '.agents/skills/pdf' : '.agents/skills' })
  })

  test('follows a link that later commits leave and point elsewhere', async () => {
    await using surveys = await Surveys.open()
    const files = { 'a/pdf/SKILL.md': skillText('pdf'), 'b/xls/SKILL.md': skillText('xls') }
    const seen = async (link: string, more: Files = {}) => {
      const { skills, roots } = await surveys.next({ ...files, root: { link }, ...more }, rulesWith({ root: 'root' }))
      return [roots?.skills, ...skills.map(({ path }) => path)]
    }

    expect(await seen('a')).toEqual(['a', 'pdf'])
    expect(await seen('a', { 'a/doc/SKILL.md': skillText('doc') })).toEqual(['a', 'doc', 'pdf'])
    expect(await seen('b')).toEqual(['b', 'xls'])
  })

  test('follows a link at the place of the docs', async () => {
    const files = { ...PDF, 'manual/a.md': 'text', docs: { link: 'manual' } }

    const { docs, roots } = await surveyed(files, { docs: 'docs' })

    expect(docs?.files.map(({ path }) => path)).toEqual(['a.md'])
    expect(roots).toEqual({ skills: '', docs: 'manual' })
  })

  test.each([
    ['out of the repository', { x: { link: '../other' } }, 'the link "x" leads to "../other", outside the repository'],
    ['to an absolute path', { x: { link: '/srv/skills' } }, 'the link "x" leads to "/srv/skills", outside'],
    ['out of it by a second link', { x: { link: 'y/z' }, y: { link: '..' } }, 'the link "y" leads to "..", outside'],
    ['to itself', { x: { link: 'x' } }, 'it leads through more than 8 links'],
    ['in a circle', { x: { link: 'y/z' }, y: { link: 'x' } }, 'it leads through more than 8 links'],
    ['nowhere', { x: { link: 'gone' } }, 'it is a link to "gone", which is not a folder of the commit'],
    ['to a file', { x: { link: 'pdf/ref.md' } }, 'it is a link to "pdf/ref.md", which is not a folder of the commit'],
    ['by a text that is none', { x: { link: Uint8Array.of(0xff) } }, 'the text of the link "x" is not a path'],
  ] as const)('refuses a root that is a link %s', async (_, links, why) => {
    await expect(surveyed({ ...PDF, ...links }, { root: 'x' })).rejects.toMatchObject({
      code: 'root-not-found',
      message: expect.stringContaining(`Cannot find the folder "x": ${why}`),
    })
  })

  test('names the folders of skills that are there if the root is not', async () => {
    await expect(surveyed({ 'x/skills/a/SKILL.md': skillText('a') }, { root: 'x/Skills' })).rejects.toMatchObject({
      message: 'Cannot find the folder "x/Skills": it has "skills"',
      fix: expect.stringContaining('"x/skills"'),
    })
  })
})

describe('one broken skill', () => {
  test('that lacks the content of a file hides nobody but itself', async () => {
    await using surveys = await Surveys.open()
    surveys.upstream.absent = new Set([blobId('gone')])
    const files = { ...PDF, 'xls/SKILL.md': skillText('xls'), 'xls/gone.md': 'gone', 'ppt/SKILL.md': 'gone' }

    const found = await surveys.next(files, rulesWith())

    expect(tallyOf(found.skills, UNDECIDED_SKILLS)).toMatchObject({ seen: 3, served: 1, partly: 0, withheld: 2 })
    expect(noted(skillAt(found, 'xls').findings)).toEqual(['path-refused xls/gone.md'])
    expect(noted(skillAt(found, 'ppt').findings)).toEqual(['path-refused ppt'])
  })

  test('that is a link to nothing is none where a skill of its name is served, and withheld where none is', async () => {
    const files = {
      ...PDF,
      '.agent/pdf/SKILL.md': { link: '../../gone/pdf/SKILL.md' },
      '.agent/xls/SKILL.md': { link: '../../gone/xls/SKILL.md' },
      '.agent/ppt/SKILL.md': 'no frontmatter\n',
    }

    const { skills } = await surveyed(files)

    expect(tallyOf(skills, UNDECIDED_SKILLS)).toMatchObject({ seen: 4, served: 1, withheld: 2, links: 1 })
    expect([...strayLinks(skills)].map(({ path }) => path)).toEqual(['.agent/pdf'])
    expect(tallyOf(skills, { ...UNDECIDED_SKILLS, waiting: new Set(['pdf']) })).toMatchObject({ waiting: 1 })
  })

  test('comes back when the content is there after all', async () => {
    await using surveys = await Surveys.open()
    const files = { ...PDF, 'xls/SKILL.md': skillText('xls'), 'xls/gone.md': 'gone' }
    surveys.upstream.absent = new Set([blobId('gone')])
    await surveys.next(files, rulesWith())
    surveys.upstream.absent = new Set()

    const found = await surveys.next({ ...files, 'xls/more.md': 'more' }, rulesWith())

    expect(skillAt(found, 'xls')).toMatchObject({ standing: 'served', findings: [] })
  })

  test('with a file that is too large hides nobody but itself', async () => {
    const files = {
      ...PDF,
      'xls/SKILL.md': skillText('xls'),
      'xls/big.bin': Buffer.alloc(2000),
      'ppt/SKILL.md': `${skillText('ppt')}${'x'.repeat(2000)}`,
    }

    const found = await surveyed(files, {}, { blobBytes: 1000 })

    expect(tallyOf(found.skills, UNDECIDED_SKILLS)).toMatchObject({ served: 1, withheld: 2 })
    expect(noted(skillAt(found, 'xls').findings)).toEqual(['limit-bytes xls/big.bin'])
    expect(noted(skillAt(found, 'ppt').findings)).toEqual(['path-refused ppt'])
  })

  test('among hundreds with every fault there is has one defined result each', async () => {
    const faults: Record<string, string | Buffer> = {
      'f-none': '# no frontmatter',
      'f-empty': '',
      'f-open': '---\nname: f-open\n',
      'f-yaml': '---\nname: [\n---\n',
      'f-twice': '---\nname: a\nname: b\ndescription: x\n---\n',
      'f-bytes': Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0x0a, 0x2d, 0x2d, 0x2d, 0x0a]),
      'f-large': `---\nname: f-large\nx: ${'y'.repeat(65_536)}\n---\n`,
      'f-bomb': '---\na: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n---\n',
      'f-noname': '---\ndescription: x\n---\n',
      'f-nodesc': '---\nname: f-nodesc\n---\n',
      'f-long': `---\nname: f-long\ndescription: ${'d'.repeat(1025)}\n---\n`,
      'f-upper': skillText('F-Upper'),
      'f-number': '---\nname: 7\ndescription: x\n---\n',
    }
    const texts = Object.entries(faults).map(([path, text]) => [`${path}/SKILL.md`, text] as const)

    const { skills } = await surveyed({ ...PDF, ...Object.fromEntries(texts) })

    const judged = skills.map(
      ({ path, standing, findings }) => `${path} ${standing} ${findings.map(({ rule }) => rule).join()}`,
    )
    expect(judged).toEqual([
      'f-bomb tools frontmatter-invalid',
      'f-bytes withheld encoding-invalid',
      'f-empty withheld frontmatter-missing',
      'f-large withheld frontmatter-too-large',
      'f-long tools description-too-long',
      'f-nodesc withheld description-missing',
      'f-noname tools name-missing',
      'f-none withheld frontmatter-missing',
      'f-number tools name-invalid',
      'f-open withheld frontmatter-unterminated',
      'f-twice tools frontmatter-invalid',
      'f-upper tools name-invalid',
      'f-yaml tools frontmatter-invalid',
      'pdf served ',
    ])
  })
})

test('a description of 1,024 characters may be written as a block, which ends with a line break that is noted', async () => {
  const blockOf = (length: number): string => `---\nname: pdf\ndescription: |\n  ${'d'.repeat(length)}\n---\n`
  const contract = documentOf(contractFrontmatter('pdf', {}, { description: `${'d'.repeat(1024)}\n` }))

  const fits = await surveyed({ 'pdf/SKILL.md': blockOf(1024) })
  const over = await surveyed({ 'pdf/SKILL.md': blockOf(1025) })
  const held = await surveyed({ 'pdf/SKILL.md': contract }, { contract: true })

  expect(skillAt(fits, 'pdf').standing).toBe('served')
  expect(noted(skillAt(fits, 'pdf').findings)).toEqual(['description-padded pdf'])
  expect(skillAt(fits, 'pdf').description).toHaveLength(1025)
  expect(noted(skillAt(over, 'pdf').findings)).toEqual(['description-too-long pdf'])
  expect(skillAt(held, 'pdf').standing).toBe('served')
  expect(noted(skillAt(held, 'pdf').findings)).toEqual(['description-padded pdf'])
})

describe('the files of a skill', () => {
  test('are told with their bytes, their mode and nothing of what git says beyond', async () => {
    const found = await surveyed({ ...PDF, 'pdf/run.sh': { executable: 'x' }, 'pdf/sub/.hidden': '', 'pdf/ü': 'ü' })

    expect(skillAt(found, 'pdf').files.map(({ path, executable, size }) => [path, executable, size])).toEqual([
      ['SKILL.md', false, Buffer.byteLength(skillText('pdf'))],
      ['ref.md', false, 3],
      ['run.sh', true, 1],
      ['sub/.hidden', false, 0],
      ['ü', false, 2],
    ])
  })

  test('may be 512, and not one more', async () => {
    const files = (count: number) =>
      Object.fromEntries(Array.from({ length: count - 1 }, (_, index) => [`pdf/f/${index}.md`, `${index % 7}`]))

    const at = skillAt(await surveyed({ ...PDF, ...files(511) }), 'pdf')
    const over = skillAt(await surveyed({ ...PDF, ...files(512) }), 'pdf')

    expect([at.standing, at.files.length]).toEqual(['served', 512])
    expect([over.standing, over.files.length, noted(over.findings)]).toEqual(['withheld', 0, ['limit-files pdf']])
    expect(over.findings[0]?.message).toBe('The skill has 513 files, over the limit of 512; 511 of them are in "f"')
  })

  test.each([
    ['all of them', 700, 1, '702 files, over the limit of 512; 700 of them are in "f"'],
    ['as far as they were counted', 9_000, 1, '8207 or more files, over the limit of 512; 8206 of them are in "f"'],
    ['or what there is in their place', 1, 9_000, 'more folders and links than are read'],
  ])('that are too many are told with how many there are: %s', async (_, files, folders, told) => {
    const each = (count: number, pathOf: (index: number) => string) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [pathOf(index), 'x']))
    const links = Object.fromEntries(
      Array.from({ length: folders }, (_, index) => [`pdf/l/${index}`, { link: '../SKILL.md' }]),
    )

    const skill = skillAt(await surveyed({ ...PDF, ...each(files, (index) => `pdf/f/${index}`), ...links }), 'pdf')

    expect(skill.findings.find(({ rule }) => rule === 'limit-files')?.message).toContain(told)
  })

  test('may hold 16 MiB, and not one byte more', async () => {
    const room = 16_777_216 - Buffer.byteLength(skillText('pdf')) - 3 - 8_000_000
    const half = Buffer.alloc(8_000_000)

    const at = await surveyed({ ...PDF, 'pdf/a': half, 'pdf/b': Buffer.alloc(room, 'b') })
    const over = await surveyed({ ...PDF, 'pdf/a': half, 'pdf/b': Buffer.alloc(room + 1, 'b') })

    expect([skillAt(at, 'pdf').standing, skillAt(at, 'pdf').size]).toEqual(['served', 16_777_216])
    expect(noted(skillAt(over, 'pdf').findings)).toEqual(['limit-bytes pdf'])
  })

  test.each([
    ['case', { 'pdf/README.md': '1', 'pdf/readme.md': '2' }],
    ['the case of a folder', { 'pdf/Ref/a.md': '1', 'pdf/ref/b.md': '2' }],
    ['a file and a folder', { 'pdf/Ref': '1', 'pdf/ref/b.md': '2' }],
    ['the form of an accent', { 'pdf/caf\u{E9}.md': '1', 'pdf/cafe\u{301}.md': '2' }],
    ['the case of SKILL.md', { 'pdf/skill.md': 'x' }],
  ])('that meet where %s does not count withhold the skill', async (_, twins) => {
    const found = await surveyed({ 'pdf/SKILL.md': skillText('pdf'), ...twins, 'xls/SKILL.md': skillText('xls') })

    expect(skillAt(found, 'pdf').standing).toBe('withheld')
    expect(skillAt(found, 'pdf').findings.map(({ rule }) => rule)).toEqual(['path-collision'])
    expect(skillAt(found, 'xls').standing).toBe('served')
  })

  test('with a backslash in the path, wherever it is, withhold the skill', async () => {
    const found = await surveyed({
      ...PDF,
      'pdf/a\\b.md': '',
      'x\\y/a/SKILL.md': skillText('a'),
      'b/SKILL.md': skillText('b'),
    })

    expect(noted(skillAt(found, 'pdf').findings)).toEqual(['path-refused pdf/a\\b.md'])
    expect(noted(skillAt(found, 'x\\y/a').findings)).toEqual(['path-refused x\\y/a/SKILL.md'])
    expect(skillAt(found, 'b').standing).toBe('served')
  })

  test('with a newline, a control character or a device name are served as they are', async () => {
    const names = ['a\nb', 'a\tb', '\u{1}', '-rf', 'x.', 'x ', 'con', 'c:', '\u{1F600}', '\u{202E}x']

    const found = await surveyed({ ...PDF, ...Object.fromEntries(names.map((name) => [`pdf/${name}`, name])) })

    expect(skillAt(found, 'pdf').standing).toBe('served')
    expect(skillAt(found, 'pdf').files.map(({ path }) => path)).toEqual(expect.arrayContaining(names))
  })
})

describe('a git LFS pointer', () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12345\n`

  test('is left out of its skill, and told with all others of it', async () => {
    const files = { 'xls/SKILL.md': skillText('xls'), 'xls/a.md': 'a', 'xls/model.bin': pointer }
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`xls/p${at}.png`, `${pointer}x ${at}\n`]))
    const rules = { lfs: 'leave-out' } as const

    const { standing, files: served, digest, findings } = skillAt(await surveyed(files, rules), 'xls')

    expect([standing, served.map(({ path }) => path)]).toEqual(['served', ['SKILL.md', 'a.md']])
    const { 'xls/model.bin': _model, ...without } = files
    expect(digest).toBe(skillAt(await surveyed(without, rules), 'xls').digest)
    const [all] = skillAt(
      await surveyed({ ...files, ...many, 'xls/link.bin': { link: 'model.bin' } }, rules),
      'xls',
    ).findings
    expect(noted(findings)).toEqual(['lfs-left-out xls'])
    expect(findings[0]?.message).toBe(
      '1 file is a git LFS pointer, and left out of the skill: "model.bin"; `lfs: withhold` withholds such a skill',
    )
    expect(all?.message).toMatch(/^11 files are git LFS pointers, .*"link.bin", "model.bin", "p0.png".* and 3 more;/)
  })

  test('withholds its skill in the place of SKILL.md', async () => {
    const found = await surveyed({ ...PDF, 'xls/SKILL.md': pointer, 'xls/model.bin': pointer }, { lfs: 'leave-out' })

    expect(skillAt(found, 'xls').standing).toBe('withheld')
    expect(noted(skillAt(found, 'xls').findings)).toContain('lfs-pointer xls/SKILL.md')
    expect(skillAt(found, 'pdf').standing).toBe('served')
  })

  test('is left out before and after an unrelated commit, and is back when it is a file', async () => {
    await using surveys = await Surveys.open()
    const files = { 'xls/SKILL.md': skillText('xls'), 'xls/model.bin': pointer }
    const rules = rulesWith({ lfs: 'leave-out' })
    const first = await surveys.next(files, rules)

    const second = await surveys.next({ ...files, 'xls/new.md': 'x' }, rules)
    const third = await surveys.next({ ...files, 'xls/model.bin': 'whole' }, rules)

    const pathsOf = (found: typeof first): string[] => skillAt(found, 'xls').files.map(({ path }) => path)
    expect([first, second, third].map(pathsOf)).toEqual([
      ['SKILL.md'],
      ['SKILL.md', 'new.md'],
      ['SKILL.md', 'model.bin'],
    ])
    expect(skillAt(third, 'xls').findings).toEqual([])
  })

  test('withholds its skill where that is asked for, and no other', async () => {
    const found = await surveyed({ ...PDF, 'xls/SKILL.md': skillText('xls'), 'xls/model.bin': pointer })

    expect(noted(skillAt(found, 'xls').findings)).toEqual(['lfs-pointer xls/model.bin'])
    expect(skillAt(found, 'xls').standing).toBe('withheld')
    expect(skillAt(found, 'pdf').standing).toBe('served')
  })

  test('is served where pointers are asked for, before and after an unrelated commit', async () => {
    await using surveys = await Surveys.open()
    const files = { 'xls/SKILL.md': skillText('xls'), 'xls/model.bin': pointer }
    const first = await surveys.next(files, rulesWith({ lfs: 'pointers' }))

    const second = await surveys.next({ ...files, 'xls/new.md': 'x' }, rulesWith({ lfs: 'pointers' }))

    expect(skillAt(first, 'xls').standing).toBe('served')
    expect(skillAt(second, 'xls').files.map(({ path }) => path)).toEqual(['SKILL.md', 'model.bin', 'new.md'])
  })

  test.each([
    ['of 1,024 bytes, which no pointer has', pointer.padEnd(1024, 'x')],
    ['that does not begin like one', ` ${pointer}`],
  ])('is none in a file %s', async (_, text) => {
    const found = await surveyed({ ...PDF, 'pdf/x': text })

    expect(skillAt(found, 'pdf').standing).toBe('served')
  })
})

describe('the name of the document', () => {
  test.each(['Skill.md', 'skill.md', 'SKILL.MD'])('%s withholds the skill, with the mend', async (name) => {
    const found = await surveyed({ [`pdf/${name}`]: skillText('pdf') })

    expect(skillAt(found, 'pdf').standing).toBe('withheld')
    expect(skillAt(found, 'pdf').findings[0]?.message).toContain('rename it to "SKILL.md"')
  })

  test('is not looked for among folders, submodules and longer names', async () => {
    const { skills } = await surveyed({
      'a/SKILL.md/x': 'x',
      'b/SKILL.md': { submodule: '5ab0'.repeat(10) },
      'c/SKILL.md.bak': skillText('c'),
      'd/MY-SKILL.md': skillText('d'),
    })

    expect(skills).toEqual([])
  })
})

describe('a submodule', () => {
  const submodule = { submodule: '5ab0'.repeat(10) }

  test('is told where it lies, and nothing below it is asked for', async () => {
    await using surveys = await Surveys.open()

    const found = await surveys.next({ ...PDF, 'pdf/vendor': submodule, 'third/party': submodule }, rulesWith())

    expect(noted(found.findings)).toEqual(['submodule third/party'])
    expect(noted(skillAt(found, 'pdf').findings)).toEqual(['submodule pdf/vendor'])
    expect(skillAt(found, 'pdf').standing).toBe('served')
    expect(surveys.upstream.taken).not.toContain(submodule.submodule)
  })
})

describe('a bomb', () => {
  const deep = (levels: number): string[] =>
    Array.from({ length: levels }, (_, level) => Array.from({ length: level + 1 }, (_, at) => `n${at}`).join('/'))

  test('of 64 skills, each in the one before, is surveyed in no time', async () => {
    const paths = deep(64)
    const before = process.cpuUsage()

    const { skills } = await surveyed(
      Object.fromEntries(paths.map((path, level) => [`${path}/SKILL.md`, skillText(`n${level}`)])),
    )

    expect(cpuSeconds(before)).toBeLessThan(5)
    expect(skills.map(({ files }) => files.length)).toEqual(paths.map((_, level) => 64 - level))
    expect(skills.every(({ standing }) => standing === 'served')).toBe(true)
  })

  test('of skills in skills over thousands of files is refused, naming the figure', async () => {
    const files: Record<string, string> = {}
    for (let chain = 0; chain < 20; chain += 1) {
      for (const path of deep(60)) files[`c${chain}/${path}/SKILL.md`] = '# none'
      const bottom = deep(60).at(-1)
      for (let index = 0; index < 400; index += 1) files[`c${chain}/${bottom}/f${index}`] = ''
    }

    const failure = surveyed(files)

    await expect(failure).rejects.toMatchObject({ code: 'limit-exceeded', message: expect.stringMatching(/\d{6}/) })
  })

  test('of thousands of links to one large skill is refused, and asks for no content', async () => {
    const files = Object.fromEntries([
      ['big/SKILL.md', skillText('big')],
      ...Array.from({ length: 400 }, (_, index) => [`big/f${index}`, ''] as const),
      ...Array.from({ length: 20_000 }, (_, index) => [`links/l${index}`, { link: '../big' }] as const),
    ])
    await using surveys = await Surveys.open()
    const before = process.cpuUsage()

    await expect(surveys.next(files, rulesWith())).rejects.toMatchObject({ code: 'limit-exceeded' })

    expect(cpuSeconds(before)).toBeLessThan(20)
    expect(surveys.upstream.taken).toEqual([blobId('../big')])
  })

  test('of thousands of links in a folder of thousands ends', async () => {
    const names = Array.from({ length: 20_000 }, (_, index) => index)
    const files = Object.fromEntries([
      ...names.map((index) => [`l/to${index}`, { link: `no${index % 50}` }] as const),
      ...names.map((index) => [`l/f${index}`, ''] as const),
      ...Object.entries(PDF),
    ])
    const before = process.cpuUsage()

    const { skills } = await surveyed(files)

    expect(cpuSeconds(before)).toBeLessThan(20)
    expect(skills).toHaveLength(1)
  })

  test('of dangling links in a skill withholds it, and never serves a part', async () => {
    const links = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`pdf/a${index}`, { link: 'nothing' }] as const),
    )

    const found = await surveyed({ ...PDF, ...links })

    expect(skillAt(found, 'pdf')).toMatchObject({ standing: 'withheld', files: [] })
    expect(found.skills).toHaveLength(1)
  })

  test('of dangling links that are fewer leaves every file', async () => {
    const links = Object.fromEntries(
      Array.from({ length: 700 }, (_, index) => [`pdf/a${index}`, { link: 'nothing' }] as const),
    )

    const { standing, files, findings } = skillAt(await surveyed({ ...PDF, ...links }), 'pdf')

    expect([standing, files.map(({ path }) => path), findings.length]).toEqual(['served', ['SKILL.md', 'ref.md'], 700])
  })

  test('of thousands of folders, each as it was, is skipped without looking at each from each', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 6_000 }, (_, index) => [`all/s${index}/SKILL.md`, skillText(`s${index}`)] as const),
    )
    await using surveys = await Surveys.open()
    await surveys.next(files, rulesWith())
    const before = process.cpuUsage()

    const { skills } = await surveys.next({ ...files, 'all/s0/new.md': 'x' }, rulesWith())

    expect(cpuSeconds(before)).toBeLessThan(1)
    expect(skills).toHaveLength(6_000)
  })
})
