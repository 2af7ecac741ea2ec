import { readFile, readdir } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../src/', import.meta.url))
/** What is shipped, as the last build made it. */
const PROGRAM = fileURLToPath(new URL('../dist/program/', import.meta.url))

/** Who may import whom. A room is the longest of these paths that a file lies under; itself it may always import. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: ['sync/skill-md'],
  'sync/skill-md': ['base'],
  'sync/model': ['base', 'sync/skill-md'],
  'sync/catalog': ['base', 'sync/skill-md', 'sync/model'],
  'sync/upstream': ['base', 'sync/skill-md', 'sync/model'],
  'sync/store': ['base', 'sync/skill-md', 'sync/model', 'sync/catalog'],
  sync: ['base', 'sync/skill-md', 'sync/model', 'sync/catalog', 'sync/upstream', 'sync/store'],
  serve: ['base', 'sync/skill-md', 'sync/model', 'sync/catalog'],
  daemon: ['base', 'sync/skill-md', 'sync/model', 'sync/catalog', 'sync/upstream', 'sync/store', 'sync', 'serve'],
}

/** Packages that only one room may know. */
const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  'isomorphic-git': ['sync/upstream'],
  openpgp: ['sync'],
  '@modelcontextprotocol/client': ['sync/upstream', 'daemon'],
  '@modelcontextprotocol/sdk': ['daemon'],
  '@modelcontextprotocol/server': ['serve'],
  'markdown-it': ['serve'],
  'p-queue': ['daemon'],
  cron: ['daemon'],
  chokidar: ['daemon'],
  jose: ['daemon'],
}

/** Names that explain nothing. */
const NO_NAMES = new Set(['index', 'utils', 'util', 'helpers', 'helper', 'types', 'common', 'misc', 'manager'])

interface Import {
  readonly file: string
  readonly names: string
}

const files = (await readdir(ROOT, { recursive: true })).filter((path) => path.endsWith('.ts')).toSorted()
const imports = (await Promise.all(files.map(importsOf))).flat()

test('the test reads the source: it sees every room, and imports in each', () => {
  expect(files.length).toBeGreaterThan(60)
  for (const room of Object.keys(MAY_IMPORT)) {
    expect(imports.filter(({ file }) => roomOf(file) === room).length, room).toBeGreaterThan(0)
  }
})

test('rooms import only in the allowed direction', () => {
  const forbidden = imports.filter(({ file, names }) => {
    if (!names.startsWith('.')) return false
    const from = roomOf(file)
    const to = roomOf(relative(ROOT, resolve(ROOT, dirname(file), names)))
    return from !== to && !MAY_IMPORT[from]?.includes(to)
  })

  expect(forbidden).toEqual([])
})

test('packages stay in the rooms that they were taken for', () => {
  const strayed = imports.filter(({ file, names }) => {
    const [, rooms] = Object.entries(ONLY_IN).find(([name]) => names === name || names.startsWith(`${name}/`)) ?? []
    return rooms !== undefined && !rooms.includes(roomOf(file))
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

test('packages are not shipped in the program, but beside it', async () => {
  const texts = await Promise.all((await readdir(PROGRAM)).map((name) => readFile(resolve(PROGRAM, name), 'utf8')))

  expect(texts.some((text) => /from "zod"/.test(text))).toBe(true)
  expect(texts.filter((text) => text.includes('node_modules/'))).toEqual([])
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

function roomOf(path: string): string {
  const rooms = Object.keys(MAY_IMPORT).toSorted((a, b) => b.length - a.length)
  return rooms.find((room) => path.startsWith(`${room}/`)) ?? 'none'
}
