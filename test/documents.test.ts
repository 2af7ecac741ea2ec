import { existsSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

test('every link from one document of the project to another leads to a file, and to a heading that is there', async () => {
  const documents = await documentsOf()

  const broken = documents.flatMap(({ path, text }) =>
    linksIn(text)
      .filter((link) => !leads(link, path, documents))
      .map((link) => `${path}: ${link}`),
  )

  expect(documents.length).toBeGreaterThan(20)
  expect(broken).toEqual([])
})

test('every page in docs is named by the README', async () => {
  const documents = await documentsOf()
  const readme = documents.find(({ path }) => path === 'README.md')?.text ?? ''

  const pages = documents.filter(({ path }) => path.startsWith('docs/') && !isDecision(path))
  const unnamed = pages.filter(({ path }) => !readme.includes(`(${path}`))

  expect(unnamed.map(({ path }) => path)).toEqual([])
})

test('the index of the decisions has a line for each file, in their order, with its title and date', async () => {
  const documents = await documentsOf()
  const index = documents.find(({ path }) => path === 'docs/decisions/README.md')?.text ?? ''

  const lines = index.split('\n').filter((line) => line.startsWith('- '))

  const decisions = documents.filter(({ path }) => isDecision(path)).toSorted((a, b) => (a.path < b.path ? -1 : 1))
  expect(decisions.length).toBeGreaterThan(40)
  expect(lines.map((line) => line.replace(/ Replaced by \[\d{4}\]\(\S+\)\.$/, ''))).toEqual(decisions.map(indexLineOf))
})

test('a decision has at most 150 words, the number of its file, a date, a status and three paragraphs', async () => {
  const decisions = (await documentsOf()).filter(({ path }) => isDecision(path))

  const unlike = decisions.filter(({ path, text }) => {
    const [number = ''] = basename(path).split('-')
    const isInForm = DECISION.test(text) && text.startsWith(`# ${number}: `)
    return !isInForm || text.split(/\s+/).filter((word) => word !== '').length > 150
  })

  expect(unlike.map(({ path }) => path)).toEqual([])
})

test('as long as no version is out, the README installs a packed file, and nothing sends anybody to a registry', async () => {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8')
  const paths = (
    await Promise.all(
      ['docs', 'examples', 'systemd', 'src'].map(async (folder) =>
        (await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true }))
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name)),
      ),
    )
  ).flat()
  const texts = await Promise.all(
    [join(ROOT, 'README.md'), ...paths].map(async (path) => ({ path, text: await readFile(path, 'utf8') })),
  )

  expect(readme).toContain(`\nnpm pack `)
  expect(readme).toContain(`\nnpm install --global ./skillsyncd-${version}.tgz `)
  // A package of that name in a registry would be another program.
  const sent = texts.filter(({ text }) =>
    /npm (?:i|install)(?: -\S+)* skillsyncd\b|npx (?:-p |--\S+ )*skillsyncd\b/.test(text),
  )
  expect(sent.map(({ path }) => path)).toEqual([])
})

const DECISION =
  /^# \d{4}: .+\n\n- Date: \d{4}-\d\d-\d\d\n- Status: accepted\n\n\*\*Decision\.\*\* [^]+\n\n\*\*Why\.\*\* [^]+\n\n\*\*Weighed\.\*\* [^]+\n$/

interface Document {
  readonly path: string
  readonly text: string
}

function isDecision(path: string): boolean {
  return /^docs\/decisions\/\d/.test(path)
}

function indexLineOf({ path, text }: Document): string {
  const [, number = '', title = '', date = ''] = /^# (\d{4}): (.+)\n\n- Date: (.+)$/m.exec(text) ?? []
  return `- [${number}](${basename(path)}) ${title} (${date})`
}

async function documentsOf(): Promise<readonly Document[]> {
  const names = ['', 'docs', 'docs/decisions', 'systemd', 'bench'].map(async (folder) =>
    (await readdir(join(ROOT, folder))).filter((name) => name.endsWith('.md')).map((name) => join(folder, name)),
  )
  const paths = (await Promise.all(names)).flat()
  return Promise.all(paths.map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })))
}

/** Those that are no addresses of the web. Examples in fences are nobody's links. */
function linksIn(text: string): string[] {
  const prose = text.replaceAll(/^```.*?^```/gms, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link).filter((link) => !/^[a-z]+:/.test(link))
}

function leads(link: string, from: string, documents: readonly Document[]): boolean {
  const [file = '', heading] = link.split('#')
  const path = file === '' ? from : join(dirname(from), file)
  if (heading === undefined) return existsSync(join(ROOT, path))
  const target = documents.find((document) => document.path === path)
  return target !== undefined && headingsIn(target.text).includes(heading)
}

/** As the common hosts make them: small letters, without marks, hyphens for spaces. */
function headingsIn(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-'),
  )
}
