import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { Repository, type Content } from '../git/repository.ts'
import { temporaryFolder } from '../temporary.ts'

/** The repository CFX of the conformance cases: a source that keeps the frontmatter contract, and its docs folder. */
export interface ContractFixture extends AsyncDisposable {
  readonly repository: Repository
  /** Everything in the repository, by path from its root. */
  readonly files: ReadonlyMap<string, Content>
  /** The ids of its skills, sorted. */
  readonly ids: readonly string[]
  /** The files of a skill, by path from its folder. */
  filesOf(id: string): ReadonlyMap<string, Buffer>
  /** What the file holds that `docs/escape.md` links to, outside of the repository. No answer may contain it. */
  readonly canary: string
}

/** Lines of YAML of the source, for `serve`. */
export const CONTRACT_SOURCE = ['root: docs/skills', 'docs: docs', 'contract: true'] as const

/** Builds CFX with one commit on `main`. Its ids differ from run to run, since a link in it names a temporary file. */
export async function buildContractFixture(): Promise<ContractFixture> {
  const outside = await temporaryFolder()
  const secret = join(outside.path, 'secret.md')
  await writeFile(secret, `${CANARY}\n`)
  const files = new Map<string, Content>([...Object.entries(FILES), ['docs/escape.md', { link: secret }]])
  const repository = await Repository.create()
  await repository.commit(Object.fromEntries(files), { message: 'CFX' })
  return {
    repository,
    files,
    ids: [...IDS].toSorted(),
    filesOf: (id) => filesOf(id),
    canary: CANARY,
    [Symbol.asyncDispose]: async () => {
      await repository[Symbol.asyncDispose]()
      await outside[Symbol.asyncDispose]()
    },
  }
}

/** A frontmatter that keeps the contract with nothing to note; `block` goes into its `x-personal-mcp`. */
export function contractFrontmatter(id: string, block: object = {}, rest: object = {}): Record<string, unknown> {
  return {
    name: id,
    description: `What ${id} does. Use it when ${id} is asked for.`,
    ...rest,
    'x-personal-mcp': { id, version: '1.0.0', capabilities: [`resource://skills/${id}/document`], ...block },
  }
}

/** The text of a SKILL.md with this frontmatter. */
export function documentOf(frontmatter: object, body = '# Body\n'): string {
  return `---\n${stringify(frontmatter)}---\n${body}`
}

const CANARY = 'CFX-OUTSIDE-CANARY'
const IDS = ['code-review', 'git-basics', 'release-notes'] as const

/** Everything that the contract knows, and fields that nobody knows. */
const CODE_REVIEW = contractFrontmatter(
  'code-review',
  {
    version: '2.1.0-rc.1',
    tags: ['review', 'code-quality'],
    capabilities: [
      'resource://skills/code-review/document',
      'resource://skills/code-review/references/checklist',
      'resource://skills/code-review/references/deep-dive',
    ],
    depends_on: ['git-basics'],
    references: {
      checklist: { path: 'references/checklist.md', mime_type: 'text/plain', title: 'The checklist' },
      'deep-dive': { path: './references/nested/DEEP.MD' },
    },
    icons: [{ src: 'https://example.com/review.png', mimeType: 'image/png', sizes: ['48x48'] }],
    owner: 'platform',
  },
  {
    when_to_use: 'Before a merge',
    'allowed-tools': ['Read', 'Bash(git:*)'],
    'user-invocable': true,
    license: 'Apache-2.0',
    metadata: { team: 'platform' },
    'x-later': { any: ['thing', 1, null] },
  },
)

const RELEASE_NOTES = contractFrontmatter('release-notes', {
  tags: ['release'],
  depends_on: ['code-review', 'git-basics'],
  references: { template: { path: 'references/template.md', title: 'What to fill in' } },
})

const SKILLS: Readonly<Record<(typeof IDS)[number], Readonly<Record<string, string>>>> = {
  'code-review': {
    'SKILL.md': documentOf(CODE_REVIEW, '# Code review\n\nRead the checklist.\n'),
    'references/checklist.md': '# Checklist\n\n- Tests\n',
    'references/nested/DEEP.MD': '# Deep\n',
    'references/undeclared.md': '# Nobody declares this\n',
  },
  'git-basics': { 'SKILL.md': documentOf(contractFrontmatter('git-basics'), '# Git basics\n') },
  'release-notes': {
    'SKILL.md': documentOf(RELEASE_NOTES, '# Release notes\n'),
    'references/template.md': '# Template\n',
  },
}

const FILES: Readonly<Record<string, string>> = {
  'README.md': '# CFX\n',
  'docs/usage.md': '# Usage\n\nWhat a reader needs: ünï, byte for byte.\n',
  'docs/note.txt': 'No Markdown\n',
  'docs/guide/setup.md': '# Setup\n',
  ...Object.fromEntries(
    Object.entries(SKILLS).flatMap(([id, held]) =>
      Object.entries(held).map(([path, text]) => [`docs/skills/${id}/${path}`, text]),
    ),
  ),
}

function filesOf(id: string): ReadonlyMap<string, Buffer> {
  const found = Object.entries(SKILLS).find(([known]) => known === id)
  if (found === undefined) throw new Error(`CFX has no skill "${id}"`)
  return new Map(Object.entries(found[1]).map(([path, text]) => [path, Buffer.from(text)]))
}
