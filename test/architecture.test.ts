import { existsSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { basename, dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { AGAINST_THE_ORDER, CORE_WITH_FEATURES, ROOMS } from './rooms.ts'

const ROOT = fileURLToPath(new URL('../src/', import.meta.url))
const PROJECT = fileURLToPath(new URL('../', import.meta.url))
/** What is shipped, as the last build made it. */
const PROGRAM = fileURLToPath(new URL('../dist/program/', import.meta.url))

/** Packages that only these rooms may know. */
const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  'isomorphic-git': ['sync/git'],
  openpgp: ['sync/signatures'],
  '@modelcontextprotocol/client': ['features/mcp-sources', 'daemon/commands'],
  '@modelcontextprotocol/sdk': ['daemon/commands'],
  '@modelcontextprotocol/server': ['serve', 'features/hub-of-several'],
  'markdown-it': ['serve/page'],
  'p-queue': ['daemon/runtime', 'daemon/pull'],
  cron: ['daemon/runtime', 'daemon/pull'],
  chokidar: ['daemon/pull'],
  jose: ['daemon/access'],
}

/** The most files of one folder. */
const MOST_FILES = 25

/** Names that explain nothing. */
const NO_NAMES = new Set(['index', 'utils', 'util', 'helpers', 'helper', 'types', 'common', 'misc', 'manager'])

const EXPORTED = /^export (?:abstract )?(?:async )?(?:type|interface|function\*?|const|let|class) (\w+)/gm

interface Import {
  readonly file: string
  readonly names: string
}

const files = (await readdir(ROOT, { recursive: true })).filter((path) => path.endsWith('.ts')).toSorted()
const imports = (await Promise.all(files.map(importsOf))).flat()

test('the test reads the source: each room has files, and each file a room', () => {
  expect(files.length).toBeGreaterThan(600)
  expect(imports.length).toBeGreaterThan(3000)
  expect(new Set(files.map(roomOf))).toEqual(new Set(Object.keys(ROOMS)))
})

test('a room imports the rooms before it alone, types counted, but for what is listed', () => {
  const rooms = Object.keys(ROOMS)
  const against = rooms.map((room) => [room, importedBy(room).filter((other) => isAfter(other, room))] as const)

  expect(Object.fromEntries(against.filter(([, others]) => others.length > 0))).toEqual(AGAINST_THE_ORDER)

  function isAfter(other: string, room: string): boolean {
    return rooms.indexOf(other) > rooms.indexOf(room)
  }
})

test('one file of the core lists the features, and no other imports any, but for what is listed', () => {
  const importing = imports.filter(({ file, names }) => {
    const imported = names.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(file), names)) : ''
    return !file.startsWith('features/') && imported.startsWith('features/')
  })

  const known = ['daemon/features.ts', ...Object.keys(CORE_WITH_FEATURES)]
  expect(Array.from(new Set(importing.map(({ file }) => file))).toSorted()).toEqual(known.toSorted())
})

test('a folder holds few enough files to be read at a glance', () => {
  const folders = Object.entries(Object.groupBy(files, dirname))
  const full = folders.filter(([, held = []]) => held.length > MOST_FILES).map(([folder]) => folder)

  expect(full).toEqual([])
})

test('ARCHITECTURE has the sentence of each room, in their order', async () => {
  const text = await readFile(resolve(PROJECT, 'ARCHITECTURE.md'), 'utf8')

  const sentences = [...text.matchAll(/^- `([\w/-]+)`: (\S.*)\.$/gm)].map(([, room, sentence]) => [room, sentence])

  expect(sentences).toEqual(Object.entries(ROOMS))
})

test.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])('a file that %s names is there', async (document) => {
  const text = await readFile(resolve(PROJECT, document), 'utf8')
  const named = [...text.matchAll(/`((?:[\w-]+\/)+[\w-]+\.ts)`/g)].map(([, path = '']) => path)

  const missing = named.filter(
    (path) => !existsSync(resolve(PROJECT, path)) && !files.some((file) => `/${file}`.endsWith(`/${path}`)),
  )

  expect(named.length).toBeGreaterThan(10)
  expect(missing).toEqual([])
})

test.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])(
  'a name of the code that %s has is in the source',
  async (document) => {
    const text = await readFile(resolve(PROJECT, document), 'utf8')
    const source = (await Promise.all(files.map((file) => readFile(resolve(ROOT, file), 'utf8')))).join('\n')
    // `judgeMove`, `Registry`, `SURVEY_VERSION`
    const named = [...text.matchAll(/`([a-z]+[A-Z]\w*|[A-Z][a-z]\w*|[A-Z]+_[A-Z_]+)`/g)].map(([, name = '']) => name)

    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((name) => !new RegExp(`\\b${name}\\b`).test(source))).toEqual([])
  },
)

test('packages stay in the rooms that they were taken for', () => {
  const strayed = imports.filter(({ file, names }) => {
    const [, rooms] = Object.entries(ONLY_IN).find(([name]) => names === name || names.startsWith(`${name}/`)) ?? []
    return rooms !== undefined && !rooms.some((room) => file.startsWith(`${room}/`))
  })

  expect(strayed).toEqual([])
})

test('a script that is started by its name is shipped under that name', async () => {
  const texts = await Promise.all(files.map((file) => readFile(resolve(ROOT, file), 'utf8')))
  const names = texts.flatMap((text) =>
    [...text.matchAll(/new URL\('\.\/([\w-]+\.js)', import\.meta\.url\)/g)].map(([, name]) => name),
  )

  const shipped = await readdir(PROGRAM)

  expect(names).toContain('git-worker.js')
  expect(shipped).toEqual(expect.arrayContaining(names))
})

test('what parts of the program have from each other keeps its name, and their files the name of their content', async () => {
  const names = (await readdir(PROGRAM)).filter((name) => name.endsWith('.js'))
  const texts = await Promise.all(names.map((name) => readFile(resolve(PROGRAM, name), 'utf8')))

  // A daemon whose package is replaced while it runs would take one for another.
  const exported = texts.flatMap((text) => [...text.matchAll(/^export \{(.*)\};?$/gm)].map(([, list]) => list ?? ''))
  expect(exported.join()).toContain('run')
  expect(exported.filter((list) => /\bas \w\b/.test(list))).toEqual([])
  expect(names.filter((name) => !/-[\w-]{8}\.js$/.test(name)).toSorted()).toEqual([
    'document-worker.js',
    'git-worker.js',
    'history-worker.js',
    'main.js',
    'markdown-worker.js',
    'search-worker.js',
    'second-worker.js',
  ])
})

test('no file has a name that explains nothing', () => {
  const unnamed = files.filter((file) => NO_NAMES.has(file.replace(/^.*\//, '').replace(/\.ts$/, '')))

  expect(unnamed).toEqual([])
})

test('the one class that a file exports bears the name of the file, but for an error beside what throws it', async () => {
  const texts = await Promise.all(
    files.map(async (file) => [file, await readFile(resolve(ROOT, file), 'utf8')] as const),
  )
  const alone = texts.flatMap(([file, text]) => {
    const names = [...text.matchAll(/^export (?:abstract )?class (\w+)/gm)].map(([, name = '']) => name)
    return names.length === 1 && names[0]?.endsWith('Error') === false ? [[file, kebabOf(names[0])] as const] : []
  })

  const others = alone.filter(([file, name]) => basename(file, '.ts') !== name).map(([file]) => file)

  expect(alone.length).toBeGreaterThan(200)
  expect(others).toEqual([
    // The value that the file is for has the name; the class makes it.
    'sync/catalog/catalog.ts',
    'sync/survey/find-skills.ts',
  ])
})

function kebabOf(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase()
}

test('an exported name has one meaning in the tree', async () => {
  const texts = await Promise.all(files.map((file) => readFile(resolve(ROOT, file), 'utf8')))
  // Overloads of one function are one meaning.
  const names = texts.flatMap((text) =>
    Array.from(new Set(Array.from(text.matchAll(EXPORTED), ([, name = '']) => name))),
  )

  expect(names.length).toBeGreaterThan(2000)
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
})

test('the environment of the process is read in one place', async () => {
  const readers = await Promise.all(
    files.map(async (file) => ((await readFile(resolve(ROOT, file), 'utf8')).includes('process.env') ? [file] : [])),
  )

  expect(readers.flat()).toEqual(['daemon/config/process-environment.ts'])
})

test('exports have names, and none is passed on from another file', async () => {
  const texts = await Promise.all(
    files.map(async (file) => ({ file, text: await readFile(resolve(ROOT, file), 'utf8') })),
  )
  const barrels = texts.filter(({ text }) => /^export (?:default|\*|(?:type )?\{[^}]*\} from)/m.test(text))

  expect(barrels.map(({ file }) => file)).toEqual([])
})

async function importsOf(file: string): Promise<Import[]> {
  const text = await readFile(resolve(ROOT, file), 'utf8')
  const statements = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\b[^'"\n;]*(?:\{[^}]*\}[^'"\n;]*)?from\s*['"]([^'"]+)['"]/g,
  )
  const dynamic = text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g)
  return [...statements, ...dynamic].map(([, names = '']) => ({ file, names }))
}

/** The other rooms that files of a room import from, in their order. */
function importedBy(room: string): string[] {
  const ours = imports.filter(({ file, names }) => names.startsWith('.') && roomOf(file) === room)
  const rooms = new Set(ours.map(({ file, names }) => roomOf(relative(ROOT, resolve(ROOT, dirname(file), names)))))
  return Object.keys(ROOMS).filter((other) => other !== room && rooms.has(other))
}

/** The innermost room around a file. */
function roomOf(file: string): string {
  const around = Object.keys(ROOMS).filter((room) => file.startsWith(`${room}/`))
  return around.toSorted((a, b) => b.length - a.length)[0] ?? dirname(file)
}
