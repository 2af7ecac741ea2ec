import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { temporaryWorkspace } from '../../../../src/sync/store/objects/temporary-blobs.ts'
import { survey } from '../../../../src/sync/survey/survey.ts'
import { FolderHashes } from '../../../../src/sync/upstream/folder/folder-hashes.ts'
import { readFolder, type FolderReading } from '../../../../src/sync/upstream/folder/folder-tree.ts'
import { parseIgnorePatterns } from '../../../../src/sync/upstream/folder/ignore-patterns.ts'
import { FETCH_LIMITS } from '../../../../src/sync/upstream/upstream.ts'
import { fillFolder } from '../../../support/content/folder.ts'
import { skillText, type Files } from '../../../support/git/scripted-upstream.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { rulesWith } from '../../survey/surveyed.ts'
import { linesOf, STEADY } from '../reached.ts'

const PDF: Files = { 'pdf/SKILL.md': skillText('pdf'), 'pdf/run.py': 'print()' }

describe('what programs leave in a skill', () => {
  test('changes nothing of it: neither its digest nor its number of files', async () => {
    await using scene = await Scene.of(PDF)
    const before = await scene.read()

    const installed = Array.from({ length: 600 }, (_, index) => [`pdf/.venv/lib/${index}.py`, ''] as const)
    await scene.add({ ...Object.fromEntries(installed), 'pdf/__pycache__/run.pyc': '', 'pdf/.pytest_cache/v/x': '' })
    const after = await scene.read()

    expect(after).toEqual(before)
    expect(before.paths).toEqual(['pdf/SKILL.md', 'pdf/run.py'])
  })

  test.each([
    ['.venv/bin/python', 'venv/bin/python', 'node_modules/x/index.js', '.git/HEAD', '.GIT/HEAD', 'git~1/HEAD', '.hg/x'],
    ['.mypy_cache/x', '.ruff_cache/x', 'my_cache/x', '.tox/x', '.nox/x', '.next/x', '.turbo/x', 'deep/__pycache__/x'],
    ['.idea/x.xml', '.vscode/settings.json', '.SKILL.md.swp', '.SKILL.md.swo', '.SKILL.md.un~', 'SKILL.md~', '4913'],
    ['#SKILL.md#', '.#SKILL.md', '.~lock.a.ods#', '~$a.docx', '.goutputstream-AB12C3', 'SKILL.md___jb_tmp___'],
    ['.DS_Store', '._SKILL.md', 'Thumbs.db', 'desktop.ini', 'Desktop.ini', '@eaDir/x', '.nfs00000012', '.directory'],
  ])('is no part of it: %s, %s, %s, %s, %s, %s', async (...names) => {
    await using scene = await Scene.of(PDF)

    await scene.add(Object.fromEntries(names.map((name) => [`pdf/${name}`, 'left'])))

    expect((await scene.read()).paths).toEqual(['pdf/SKILL.md', 'pdf/run.py'])
  })

  test('is no part of it as a link either', async () => {
    await using scene = await Scene.of(PDF)

    await symlink('ada@desk.1234:1700000000', join(scene.folder, 'pdf/.#SKILL.md'))
    await symlink('/opt/environments/pdf', join(scene.folder, 'pdf/.venv'))

    expect((await scene.read()).paths).toEqual(['pdf/SKILL.md', 'pdf/run.py'])
  })

  test('is told from what authors ship', async () => {
    const shipped = [
      'dist/a.js',
      'target/x',
      'build/x',
      'bin/run',
      'vendor/x.py',
      'out/x',
      'lib/x',
      '.gitignore',
      '.env',
    ]
    const alike = [
      'cache',
      'my_cache_notes/x',
      '.github/x',
      '.config/x',
      'env/x',
      'a#b',
      '#notes',
      'swp',
      '.next',
      'idea',
    ]
    const names = [...shipped, ...alike].map((name) => `pdf/${name}`)
    await using scene = await Scene.of(PDF)

    await scene.add(Object.fromEntries(names.map((name) => [name, ''])))

    expect((await scene.read()).paths).toEqual([...names, ...Object.keys(PDF)].toSorted())
  })
})

describe('the ignore files of git', () => {
  test('apply without a repository, from the folder that they are in', async () => {
    await using scene = await Scene.of({
      ...PDF,
      '.gitignore': '*.log\n/pdf/dist/\n',
      'pdf/.gitignore': '!keep.log\nout\n',
      'pdf/a.log': '',
      'pdf/keep.log': '',
      'pdf/dist/x': '',
      'pdf/deep/out/x': '',
      'pdf/deep/dist/x': '',
    })

    expect((await scene.read()).paths).toEqual([
      'pdf/.gitignore',
      'pdf/SKILL.md',
      'pdf/deep/dist/x',
      'pdf/keep.log',
      'pdf/run.py',
    ])
  })

  test('take back in what the table passes over, but nothing of git', async () => {
    const left = { 'pdf/.vscode/settings.json': '', 'pdf/.idea/x': '', 'pdf/.git/HEAD': '' }
    await using scene = await Scene.of({ ...PDF, 'pdf/.gitignore': '!.vscode/\n!.git\n', ...left })

    expect((await scene.read()).paths).toContain('pdf/.vscode/settings.json')
    expect((await scene.read()).paths).toHaveLength(4)
  })

  test('above the folder count up to the top of its work tree, and no further', async () => {
    await using scene = await Scene.of({
      'work/.git/info/exclude': '*.secret\n',
      'work/.gitignore': '/skills/pdf/out\n',
      'work/skills/.gitignore': '*.tmp\n',
      'work/skills/pdf/SKILL.md': skillText('pdf'),
      'work/skills/pdf/out/x': '',
      'work/skills/pdf/x.tmp': '',
      'work/skills/pdf/x.secret': '',
      'work/skills/pdf/x.md': '',
      '.gitignore': '*.md\n',
    })

    expect((await scene.read('work/skills')).paths).toEqual(['pdf/SKILL.md', 'pdf/x.md'])
    expect((await scene.read('work/skills/pdf')).paths).toEqual(['SKILL.md', 'x.md'])
  })

  test.each<[string, string, string, Partial<FolderReading>]>([
    ['a source', '.agents/\n', 'work/.agents/skills', {}],
    ['a source that is in a folder that matches everything', '*\n', 'work/.agents/skills', {}],
    ['the root of a source', '.agents/\n', 'work', { root: '.agents/skills' }],
    ['the docs of a source', '.agents/\n', 'work', { root: 'none', docs: '.agents/skills' }],
  ])('do not hide %s that was named itself', async (_, ignores, source, reading) => {
    await using scene = await Scene.of({
      'work/.git/HEAD': '',
      'work/.gitignore': ignores,
      'work/.agents/skills/pdf/SKILL.md': skillText('pdf'),
      'work/.agents/skills/.gitignore': 'x.tmp',
      'work/.agents/skills/pdf/x.tmp': '',
    })

    const { paths } = await scene.read(source, reading)

    expect(paths.filter((path) => !path.endsWith('.gitignore'))).toEqual([expect.stringMatching(/pdf\/SKILL\.md$/)])
  })

  test('of a repository in the folder count in it alone, and those around it do not', async () => {
    await using scene = await Scene.of({
      '.gitignore': '*.py\n',
      ...PDF,
      'pdf/.git/info/exclude': '*.txt\n',
      'pdf/x.txt': '',
      'other/SKILL.md': skillText('other'),
      'other/x.txt': '',
      'other/x.py': '',
    })

    expect((await scene.read()).paths).toEqual(['other/SKILL.md', 'other/x.txt', 'pdf/SKILL.md', 'pdf/run.py'])
  })

  test('are not read through a link, and a folder of that name is none', async () => {
    await using scene = await Scene.of({ ...PDF, 'b/SKILL.md': skillText('b'), elsewhere: '*.py\n' })
    await symlink('elsewhere', join(scene.folder, '.gitignore'))
    await mkdir(join(scene.folder, 'b/.gitignore'))

    expect((await scene.read()).paths).toContain('pdf/run.py')
  })

  test.each([
    ['in bytes', 'a\n'.repeat(140_000), 'it has 280000 bytes, over the limit of 262144', 'Make the file smaller'],
    [
      'in bytes of one line',
      'a'.repeat(300_000),
      'it has 300000 bytes, over the limit of 262144',
      'Make the file smaller',
    ],
    ['in patterns', 'a\n'.repeat(4_097), 'it has 4097 patterns, over the limit of 4096', 'Use fewer patterns'],
    [
      'in one pattern',
      `b\n${'a'.repeat(2_049)}`,
      'its pattern in line 2 has 2049 bytes, over the limit of 2048',
      'Shorten the pattern, or remove it',
    ],
  ])('over a limit %s fail the read, with their name, that limit and its next step', async (_, text, why, fix) => {
    await using scene = await Scene.of({ ...PDF, 'pdf/.gitignore': text })

    const read = scene.read()

    await expect(read).rejects.toThrow(SyncError)
    await expect(read).rejects.toMatchObject({ message: `Cannot use the ignore file "pdf/.gitignore": ${why}`, fix })
  })

  test('take time in proportion to pattern and path, however many stars they have', () => {
    const pattern = `${'*a'.repeat(100)}b`
    const name = 'a'.repeat(200)
    let steps = 0

    const [parsed] = parseIgnorePatterns(pattern)
    const isMatch = parsed?.matches(name, name, () => (steps += 1))

    expect(isMatch).toBe(false)
    expect(steps).toBeLessThan(2 * 201 * 200)
  })
})

describe('an ignored SKILL.md', () => {
  test.each<[string, Files, string]>([
    ['by its name', { '.gitignore': '# notes\n\n*.md\n' }, 'line 3 of ".gitignore" ("*.md")'],
    ['by its folder', { '.gitignore': 'pdf/' }, 'line 1 of ".gitignore" ("pdf/")'],
    ['by an ignore file in its folder', { 'pdf/.gitignore': '*\n' }, 'line 1 of "pdf/.gitignore" ("*")'],
    ['by exclusions', { '.git/info/exclude': '/pdf\n' }, 'line 1 of ".git/info/exclude" ("/pdf")'],
  ])('is a finding that names the line: %s', async (_, files, by) => {
    await using scene = await Scene.of({ ...PDF, 'a/SKILL.md': skillText('a'), ...files })
    await writeFile(join(scene.folder, 'a/.gitignore'), '!SKILL.md\n')

    const { skills, findings } = await scene.surveyed()

    expect(skills.map(({ path }) => path)).toEqual(['a'])
    const message = `The skill is not served: its SKILL.md is ignored by ${by}`
    expect(findings).toEqual([{ rule: 'skill-ignored', path: 'pdf/SKILL.md', message }])
  })

  test('changes the revision when it comes and when it goes, and nothing else of what is ignored does', async () => {
    await using scene = await Scene.of({ ...PDF, '.gitignore': 'dist/\n', 'dist/x.js': '' })
    const { revision } = await scene.read()

    await scene.add({ 'dist/skills/b/y.js': '' })
    const beside = await scene.read()
    await scene.add({ 'dist/skills/b/SKILL.md': skillText('b') })
    const come = await scene.read()
    await rm(join(scene.folder, 'dist/skills/b/SKILL.md'))
    const gone = await scene.read()

    expect(beside.revision).toEqual(revision)
    expect(come.revision).not.toEqual(revision)
    expect(gone.revision).toEqual(revision)
  })

  test('in a skill, in a package or in the output of a build is none', async () => {
    const output = Array.from({ length: 10_001 }, (_, index) => [`target/${index}`, ''] as const)
    await using scene = await Scene.of({
      ...PDF,
      '.gitignore': 'dist/\nlibrary/\ntarget/\n',
      'pdf/dist/SKILL.md': skillText('pdf'),
      'library/node_modules/x/SKILL.md': skillText('x'),
      'target/x/SKILL.md': skillText('x'),
      ...Object.fromEntries(output),
    })

    const { skills, findings } = await scene.surveyed()

    expect(skills.map(({ path, standing }) => `${path} ${standing}`)).toEqual(['pdf served'])
    expect(findings).toEqual([])
  })
})

test('a change of an ignore file and of a SKILL.md is of use, and of what is passed over none', async () => {
  await using scene = await Scene.of({ ...PDF, 'pdf/.gitignore': 'out\n' })
  const hashes = new FolderHashes(() => 0)
  await scene.read('', { hashes })

  const paths = ['pdf/.gitignore', 'new/.gitignore', 'pdf/x', 'pdf/out/SKILL.md', 'pdf/out/x', 'pdf/out', 'pdf/a~']
  const isOfUse = await Promise.all(paths.map(async (path) => [path, await hashes.isOfUse(path)] as const))

  expect(isOfUse.filter(([, is]) => is).map(([path]) => path)).toEqual(paths.slice(0, 4))
})

/** A folder on this disk, read as a source. */
class Scene implements AsyncDisposable {
  readonly folder: string
  readonly #temporary: AsyncDisposable
  readonly #workspace: Awaited<ReturnType<typeof temporaryWorkspace>>

  private constructor(
    folder: string,
    temporary: AsyncDisposable,
    workspace: Awaited<ReturnType<typeof temporaryWorkspace>>,
  ) {
    this.folder = folder
    this.#temporary = temporary
    this.#workspace = workspace
  }

  static async of(files: Files): Promise<Scene> {
    const temporary = await temporaryFolder()
    const scene = new Scene(join(temporary.path, 'folder'), temporary, await temporaryWorkspace())
    await fillFolder(scene.folder, files)
    return scene
  }

  async add(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(this.folder, path, '..'), { recursive: true })
      await writeFile(join(this.folder, path), text)
    }
  }

  async read(below = '', reading: Partial<FolderReading> = {}) {
    await using tree = await this.#tree(join(this.folder, below), reading)
    return {
      revision: tree.revision,
      paths: linesOf(tree)
        .map((line) => line.split('\t')[1] ?? '')
        .toSorted(),
    }
  }

  async surveyed() {
    await using tree = await this.#tree(this.folder, {})
    return await survey(tree, rulesWith({}), undefined, STEADY)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#workspace[Symbol.asyncDispose]()
    await this.#temporary[Symbol.asyncDispose]()
  }

  async #tree(path: string, reading: Partial<FolderReading>) {
    const all = { root: '', docs: undefined, limits: FETCH_LIMITS, blobs: this.#workspace.blobs, ...reading }
    return readFolder(path, all, STEADY)
  }
}
