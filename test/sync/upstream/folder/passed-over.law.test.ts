import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isBelow, foldersAbove, relativeTo } from '../../../../src/base/paths.ts'
import { walkFolder, type ListedFolder } from '../../../../src/sync/upstream/folder/folder-walk.ts'
import { LEFT_BY_PROGRAMS } from '../../../../src/sync/upstream/folder/left-by-programs.ts'
import { OpenFolder } from '../../../../src/sync/upstream/folder/open-folder.ts'
import { PassedOver } from '../../../../src/sync/upstream/folder/passed-over.ts'
import { FETCH_LIMITS } from '../../../../src/sync/upstream/upstream.ts'
import { gitEnvironment } from '../../../support/git/repository.ts'
import { lawRuns } from '../../../support/law-runs.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { STEADY } from '../reached.ts'

const NAMES = fc.oneof(
  fc.constantFrom('a', 'b', 'ab', 'aab', 'a.py', 'b.log', 'foo', 'bar', 'x y', '[a]', 'a-b', 'é', '.h', 'A', 'foo '),
  fc.constantFrom('a#', '!a', 'a\\b', '#c', ']', '-', 'a*', '.venv', '__pycache__', 'my_cache', '.DS_Store', 'b~'),
)

const SEGMENTS = fc.oneof(
  NAMES,
  fc.constantFrom('*', '**', '?', 'a*', '*b', '*.py', '[ab]', '[!a]', '[^a]', '[a-c]', '[[:alpha:]]', '\\a', '\\*'),
  fc.constantFrom(
    'x\\ y',
    '[]a]',
    '[a',
    'foo\\ ',
    'a**',
    '**b',
    'a**b',
    '*a*',
    '[[:upper:]]*',
    '\\!a',
    '\\#c',
    '[a\\]b]',
  ),
  fc.constantFrom(
    'a\\\\b',
    '.*',
    '[-a]',
    '[a-]',
    '***',
    'a?',
    '??',
    '[[:foo:]]',
    '[[:]',
    '[!-a]',
    '[a-\\c]',
    'a\\',
    '',
  ),
  fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '[', ']', '!', '-', '\\', ' ', '.'), maxLength: 6 }),
)

const LINES = fc
  .record({
    start: fc.constantFrom('', '', '', '!', '/', '!/', '#'),
    path: fc.array(SEGMENTS, { minLength: 1, maxLength: 3 }),
    end: fc.constantFrom('', '', '', '/', ' ', '\\ ', '\t', '\r', '/**', '/*'),
  })
  .map(({ start, path, end }) => `${start}${path.join('/')}${end}`)

const TEXTS = fc
  .tuple(
    fc.constantFrom('', '', '', '\u{feff}'),
    fc.array(LINES, { minLength: 1, maxLength: 6 }),
    fc.constantFrom('', '\n'),
  )
  .map(([mark, lines, end]) => `${mark}${lines.join('\n')}${end}`)

interface World {
  readonly files: readonly string[]
  /** Ignore files by folder; a number stands for one of the folders. */
  readonly ignores: readonly (readonly [number, string])[]
  readonly exclusions: string
  /** Folders that are repositories of their own. */
  readonly repositories: readonly number[]
  /** The folder of the source. */
  readonly source: number
}

const WORLDS: fc.Arbitrary<World> = fc.record({
  files: fc.uniqueArray(
    fc.array(NAMES, { minLength: 1, maxLength: 4 }).map((path) => path.join('/')),
    {
      minLength: 4,
      maxLength: 24,
    },
  ),
  ignores: fc.array(fc.tuple(fc.nat(9), TEXTS), { minLength: 1, maxLength: 4 }),
  exclusions: fc.oneof(fc.constant(''), TEXTS),
  repositories: fc.array(fc.nat(9), { maxLength: 1 }),
  source: fc.oneof(fc.constant(0), fc.nat(9)),
})

test('a folder has what git does not ignore, if the table is one of its exclude files', async () => {
  const law = fc.asyncProperty(fc.array(WORLDS, { minLength: 1, maxLength: AT_ONCE, size: 'max' }), async (worlds) => {
    await using scratch = await temporaryFolder()
    const trees = worlds.map((world, index) => new WorkTree(join(scratch.path, String(index)), world))
    askGit(trees, scratch.path)

    for (const tree of trees) {
      // A folder that is ignored as a whole was named all the same, and git has no word on it.
      if (tree.isSourceIgnored) continue
      expect(await listedIn(tree.source)).toEqual(tree.notIgnored)
    }
  })
  await fc.assert(law, { numRuns: lawRuns((2 * 1_000) / AT_ONCE, 0.04) })
})

/** The trees that one process asks git about. */
const AT_ONCE = 40

async function listedIn(folder: string): Promise<readonly string[]> {
  await using opened = await OpenFolder.open(folder)
  const passedOver = await PassedOver.of(folder, new Set())
  const walking = { limits: FETCH_LIMITS, apart: new Set<string>(), passedOver, isLastAttempt: true }
  return filesOf(await walkFolder(opened, walking, STEADY), '').toSorted()
}

function filesOf({ entries }: ListedFolder, path: string): readonly string[] {
  return [...entries].flatMap(([name, entry]) => {
    const at = `${path}${Buffer.from(name, 'latin1').toString()}`
    return entry.kind === 'folder' ? filesOf(entry, `${at}/`) : [at]
  })
}

/** A work tree on this disk, perhaps with another one in it, and git's word on its files. */
class WorkTree {
  readonly source: string
  readonly #source: string
  readonly #files = new Set<string>()
  readonly #inner: readonly string[]
  /** For each repository: the paths that git is asked about, in files, and its answers. */
  readonly questions: readonly { readonly repository: string; readonly paths: readonly string[] }[]
  readonly #top: string

  constructor(top: string, { files, ignores, exclusions, repositories, source }: World) {
    const folders = ['', ...new Set(files.flatMap((file) => [...foldersAbove(file)]))]
    const folderAt = (index: number): string => folders[index % folders.length] ?? ''
    this.#top = top
    this.#source = folderAt(source)
    this.source = join(top, this.#source)
    this.#inner = repositories.map(folderAt).filter((folder) => folder !== '')
    for (const repository of ['', ...this.#inner]) beRepository(join(top, repository), exclusions)
    for (const file of files) if (!folders.includes(file)) this.#write(file, '')
    for (const [index, text] of ignores) this.#write(join(folderAt(index), '.gitignore'), text)
    const paths = [...this.#files, ...this.#inner, this.#source].filter((path) => path !== '')
    this.questions = ['', ...this.#inner].map((repository) => ({
      repository: join(top, repository),
      paths: paths
        .filter((path) => this.#repositoryOf(path) === repository)
        .map((path) => relativeTo(repository, path)),
    }))
    for (const { repository, paths: asked } of this.questions)
      writeFileSync(join(repository, '.git/asked'), asked.join('\0'))
  }

  get isSourceIgnored(): boolean {
    return this.#source !== '' && this.#isIgnored(this.#source)
  }

  get notIgnored(): readonly string[] {
    const files = [...this.#files].filter((file) => isBelow(file, this.#source) && !this.#isIgnored(file))
    return files.map((file) => relativeTo(this.#source, file)).toSorted()
  }

  #write(file: string, text: string): void {
    mkdirSync(dirname(join(this.#top, file)), { recursive: true })
    writeFileSync(join(this.#top, file), text)
    this.#files.add(file)
  }

  /** The repository that has a word on a path: one around it, and not itself. */
  #repositoryOf(path: string): string {
    return this.#inner.find((repository) => isBelow(path, repository)) ?? ''
  }

  #isIgnored(path: string): boolean {
    const repository = this.#repositoryOf(path)
    const told = readFileSync(join(this.#top, repository, '.git/told'), 'utf8').split('\0')
    return told.includes(relativeTo(repository, path)) || (repository !== '' && this.#isIgnored(repository))
  }
}

function beRepository(folder: string, exclusions: string): void {
  for (const below of ['objects', 'refs', 'info']) mkdirSync(join(folder, '.git', below), { recursive: true })
  writeFileSync(join(folder, '.git/HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(folder, '.git/info/exclude'), exclusions)
}

function askGit(trees: readonly WorkTree[], scratch: string): void {
  writeFileSync(join(scratch, 'table'), Object.values(LEFT_BY_PROGRAMS).flat().join('\n'))
  // Git ends with 1 if it ignores nothing.
  const script = `for folder; do
    git -c core.excludesFile="$TABLE" -C "$folder" check-ignore --no-index -z --stdin <"$folder/.git/asked" >"$folder/.git/told" || test $? = 1 || exit
  done`
  const asked = trees.flatMap(({ questions }) => questions.filter(({ paths }) => paths.length > 0))
  const env = { ...gitEnvironment(), TABLE: join(scratch, 'table') }
  execFileSync('sh', ['-c', script, 'sh', ...asked.map(({ repository }) => repository)], { env })
}
