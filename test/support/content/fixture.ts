import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Repository, type Content } from '../git/repository.ts'
import { temporaryFolder } from '../temporary.ts'

/** The repository FX of the conformance cases, and what each oracle needs to know of it. Nothing here is read by our code. */
export interface Fixture extends AsyncDisposable {
  readonly repository: Repository
  /** Everything in the repository, by path from its root. */
  readonly files: ReadonlyMap<string, Content>
  /** The skill paths, below `skills/`, that `skills/list` holds with `names: exact`; sorted. */
  readonly listed: readonly string[]
  /** The frontmatter of each listed skill as JSON. */
  readonly frontmatter: ReadonlyMap<string, unknown>
  /** The files of a skill as they are listed: links inside the skill resolved, refused links and submodules left out. */
  filesOf(skill: string): ReadonlyMap<string, Buffer>
  /** What the file outside of the repository holds. No answer may contain it. */
  readonly canary: string
}

/** Builds FX with one commit on `main`. Its ids differ from run to run, since a link in it names a temporary file. */
export async function buildFixture(): Promise<Fixture> {
  const outside = await temporaryFolder()
  const secret = join(outside.path, 'secret.txt')
  await writeFile(secret, `${CANARY}\n`)
  const files = allFiles(secret)
  const repository = await Repository.create()
  await repository.commit(Object.fromEntries(files), { message: 'FX' })
  return {
    repository,
    files,
    listed: LISTED.map((skill) => skill.path).sort(),
    frontmatter: new Map(LISTED.map((skill) => [skill.path, frontmatterOf(skill)])),
    filesOf: (skill) => filesOf(files, skill),
    canary: CANARY,
    [Symbol.asyncDispose]: async () => {
      await repository[Symbol.asyncDispose]()
      await outside[Symbol.asyncDispose]()
    },
  }
}

const CANARY = 'OUTSIDE-CANARY'

interface ValidSkill {
  /** The folder below `skills/`; its last segment is the name. */
  readonly path: string
  readonly description: string
  /** Further frontmatter, once as YAML and once, by hand, as the JSON it means. */
  readonly yaml?: string
  readonly json?: Readonly<Record<string, unknown>>
  /** What follows the heading. */
  readonly body?: string
  /** How the text differs from LF without a byte order mark. */
  readonly encode?: (text: string) => string
}

const LONGEST_NAME = 'n'.repeat(64)
const LONGEST_DESCRIPTION = 'd'.repeat(1024)

const YAML_TYPES = `\
block: |
  first line
   ---\x20
  last line
list:
  - one
  - two
nested:
  outer:
    inner: deep
nothing: null
flag: true
count: 3
ratio: 2.5
answer: "yes"
released: "2026-01-31"
x-foo: {a: [1,{b: c}]}
`

const LISTED: readonly ValidSkill[] = [
  { path: 'git-workflow', description: 'Branches, commits and reviews' },
  {
    path: 'acme/billing/refunds',
    description: 'Pays a customer back',
    yaml: 'license: Apache-2.0\n',
    json: { license: 'Apache-2.0' },
  },
  // A rule in the body must not be taken for the end of the frontmatter.
  { path: 'acme/support/refunds', description: 'Answers questions about refunds', body: '\n---\n\nAfter the rule.\n' },
  {
    path: 'pdf-processing',
    description: 'Reads and fills PDF forms',
    yaml: 'metadata: {version: "2.1.0"}\n',
    json: { metadata: { version: '2.1.0' } },
  },
  { path: 'outer', description: 'Holds another skill' },
  { path: 'outer/inner', description: 'Is held by another skill' },
  {
    path: 'yaml-types',
    description: 'Each type that YAML and JSON share',
    yaml: YAML_TYPES,
    json: {
      block: 'first line\n --- \nlast line\n',
      list: ['one', 'two'],
      nested: { outer: { inner: 'deep' } },
      nothing: null,
      flag: true,
      count: 3,
      ratio: 2.5,
      answer: 'yes',
      released: '2026-01-31',
      'x-foo': { a: [1, { b: 'c' }] },
    },
  },
  { path: 'bom-skill', description: 'Begins with a byte order mark', encode: (text) => `\u{FEFF}${text}` },
  {
    path: 'crlf-skill',
    description: 'Ends its lines as Windows does',
    encode: (text) => text.replaceAll('\n', '\r\n'),
  },
  { path: '1up', description: 'Begins with a digit' },
  { path: LONGEST_NAME, description: 'Has the longest name there is' },
  { path: 'longest-description', description: LONGEST_DESCRIPTION },
  { path: 'link-ok', description: 'Links to a file of its own' },
  { path: 'link-escape', description: 'Links to what is not its own' },
  { path: 'edge-count', description: 'Has as many files as a skill may have' },
  { path: 'edge-size', description: 'Has as many bytes as a skill may have' },
  { path: 'git-workflow-sub', description: 'Holds a submodule' },
]

function textOf({ path, description, yaml = '', body = '', encode = (text) => text }: ValidSkill): string {
  return encode(skillText(nameOf(path), `description: ${description}\n${yaml}`) + body)
}

function frontmatterOf({ path, description, json }: ValidSkill): unknown {
  return { name: nameOf(path), description, ...json }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function skillText(name: string, yaml: string): string {
  return `---\nname: ${name}\n${yaml}---\n# ${name}\n`
}

const DESCRIBED = 'description: Must not be listed\n'

/** The SKILL.md of each folder, below `skills/`, that must not be listed. */
const INVALID: Readonly<Record<string, string>> = {
  'outer/broken': '# broken\n',
  'bad-dir': skillText('other', DESCRIBED),
  Upper: skillText('Upper', DESCRIBED),
  '-lead': skillText('-lead', DESCRIBED),
  'trail-': skillText('trail-', DESCRIBED),
  'dou--ble': skillText('dou--ble', DESCRIBED),
  [`${LONGEST_NAME}n`]: skillText(`${LONGEST_NAME}n`, DESCRIBED),
  padded: `---\nname: " padded"\n${DESCRIBED}---\n# padded\n`,
  'no-desc': skillText('no-desc', ''),
  'empty-desc': skillText('empty-desc', 'description: ""\n'),
  'description-too-long': skillText('description-too-long', `description: ${LONGEST_DESCRIPTION}d\n`),
  'list-fm': '---\n- name\n- description\n---\n# list-fm\n',
  'scalar-fm': '---\njust a sentence\n---\n# scalar-fm\n',
  unterminated: `---\nname: unterminated\n${DESCRIBED}\n# unterminated\n`,
  'bad-yaml': `---\nname: bad-yaml\ndescription: [never closed\n---\n# bad-yaml\n`,
  'over-count': skillText('over-count', DESCRIBED),
  'over-size': skillText('over-size', DESCRIBED),
}

/** The files below `skills/` that are no SKILL.md. */
const SUPPORTING: Readonly<Record<string, Content>> = {
  'acme/billing/refunds/examples/email.md': '# An email\n',
  'pdf-processing/references/FORMS.md': '# Forms\n',
  'pdf-processing/scripts/extract.py': { executable: '#!/usr/bin/env python3\nprint("extracted")\n' },
  'pdf-processing/templates/invoice.md': '# Invoice\n',
  'pdf-processing/templates/regional/eu.md': '# Invoice for the EU\n',
  'pdf-processing/assets/logo.png': Buffer.from('89504e470d0a1a0a0000000d494844520000000100000001', 'hex'),
  'pdf-processing/notes/setup guide.md': 'a name with a space\n',
  'pdf-processing/notes/a b.md': 'a, space, b\n',
  'pdf-processing/notes/a%20b.md': 'a, percent, 20, b\n',
  'pdf-processing/notes/100%.md': 'a name with a percent sign\n',
  'pdf-processing/notes/q?x#y.md': 'a name with a query and a fragment\n',
  'pdf-processing/notes/ünï.md': 'a name that is not ASCII\n',
  'pdf-processing/empty.txt': '',
  'pdf-processing/latin1.txt': Buffer.from('caf\u{E9}\n', 'latin1'),
  'pdf-processing/crlf.md': 'one\r\ntwo\r\n',
  'pdf-processing/bom.md': '\u{FEFF}after the mark\n',
  'pdf-processing/.hidden.md': 'hidden\n',
  'outer/inner/data.md': 'data\n',
  'link-ok/real.md': 'real\n',
  'link-ok/alias.md': { link: 'real.md' },
  'link-escape/up': { link: '../..' },
  'link-escape/loop': { link: 'loop' },
  'git-workflow-sub/vendor': { submodule: '5ab0'.repeat(10) },
}

/** The only links that are listed, and the files they lead to. */
const LINKS_INSIDE: Readonly<Record<string, string>> = { 'skills/link-ok/alias.md': 'skills/link-ok/real.md' }

function allFiles(secret: string): ReadonlyMap<string, Content> {
  const texts = new Map([...LISTED.map((skill) => [skill.path, textOf(skill)] as const), ...Object.entries(INVALID)])
  const documents = new Map([...texts].map(([path, text]) => [`${path}/SKILL.md`, text]))
  const below: [string, Content][] = [
    ...documents,
    ...Object.entries(SUPPORTING),
    ['link-escape/secret', { link: secret }],
    ...numbered('edge-count', 512 - 1),
    ...numbered('over-count', 513 - 1),
    ...sized('edge-size', 16_777_216, documents),
    ...sized('over-size', 16_777_216 + 1, documents),
  ]
  return new Map(below.map(([path, content]) => [`skills/${path}`, content]))
}

function numbered(skill: string, count: number): [string, Content][] {
  return Array.from({ length: count }, (_, index) => [`${skill}/files/${index + 1}.md`, `file ${index + 1}\n`])
}

/** Files that, with the skill's SKILL.md, have so many bytes: three of 4 MiB, and the rest. */
function sized(skill: string, size: number, documents: ReadonlyMap<string, string>): [string, Content][] {
  const part = 4 * 1024 * 1024
  const rest = size - Buffer.byteLength(documents.get(`${skill}/SKILL.md`)!) - 3 * part
  return [part, part, part, rest].map((bytes, index) => [`${skill}/part-${index + 1}.bin`, noise(bytes, index)])
}

/** Bytes that look random and are always the same. */
function noise(size: number, seed: number): Buffer {
  const block = Buffer.concat(
    Array.from({ length: 2048 }, (_, index) => createHash('sha256').update(`${seed}:${index}`).digest()),
  )
  return Buffer.alloc(size, block)
}

function filesOf(files: ReadonlyMap<string, Content>, skill: string): ReadonlyMap<string, Buffer> {
  const prefix = `skills/${skill}/`
  const found = new Map<string, Buffer>()
  for (const path of files.keys()) {
    const bytes = path.startsWith(prefix) ? bytesOf(files.get(LINKS_INSIDE[path] ?? path)!) : undefined
    if (bytes !== undefined) found.set(path.slice(prefix.length), bytes)
  }
  return found
}

/** The bytes of a file; undefined for a link and a submodule, which have none of their own. */
function bytesOf(content: Content): Buffer | undefined {
  if (typeof content === 'string' || content instanceof Uint8Array) return Buffer.from(content)
  return 'executable' in content ? Buffer.from(content.executable) : undefined
}
