import { existsSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
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

  const unnamed = documents.filter(({ path }) => path.startsWith('docs/') && !readme.includes(`(${path}`))

  expect(unnamed.map(({ path }) => path)).toEqual([])
})

test('as long as no version is out, the README says how to install from a clone', async () => {
  const [readme, changes] = await Promise.all(
    ['README.md', 'CHANGELOG.md'].map((path) => readFile(join(ROOT, path), 'utf8')),
  )
  const isOut = /^## \[\d/m.test(changes ?? '')
  const commands = readme?.split('\n').filter((line) => line.startsWith('npm install --global ')) ?? []

  expect(commands.some((line) => line.startsWith('npm install --global skillsyncd'))).toBe(isOut)
  expect(commands.includes('npm install --global .')).toBe(!isOut)
  expect(readme?.includes('it is not in the registry yet')).toBe(!isOut)
})

interface Document {
  readonly path: string
  readonly text: string
}

async function documentsOf(): Promise<readonly Document[]> {
  const names = ['', 'docs', 'systemd', 'bench'].map(async (folder) =>
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
