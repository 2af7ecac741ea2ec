import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse as parseYaml, parseAllDocuments, stringify } from 'yaml'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import { KEY_SYNONYMS } from '../../src/daemon/config/error-messages.ts'
import { schemaJson } from '../../src/daemon/config/schema-json.ts'
import { CONFIG, parseConfig } from '../../src/daemon/configuration.ts'
import { configKeys } from '../support/content/config-reference.ts'
import { blocks } from './snippets.ts'

test('each block of YAML is a configuration that is accepted, or the file of another program', () => {
  const yaml = blocks('yaml').filter(({ text }) => !isForeign(text))

  const wrong = yaml.flatMap(({ place, text }) => configFaultsOf(text).map((fault) => `${place}: ${fault}`))

  expect(yaml.length).toBeGreaterThan(25)
  expect(wrong).toEqual([])
})

test.each([
  ['sources:\n  - id: team\n    url: https://git.example.com/x.git\n    evry: 5m\n', 'evry'],
  ['serve: { page: { enable: false } }', 'enable'],
  ['aproval: none\nunverifiable: serve\n', 'aproval'],
  ['approval: never\n', 'approval'],
  ['publish:\n  - git: https://git.example.com/x.git\n    pack: other\n', 'publish[0].pack'],
])('%j is wrong', (text, key) => {
  expect(isForeign(text)).toBe(false)
  expect(configFaultsOf(text).join('\n')).toContain(key)
})

test('each key in a sentence is there, and accepted with the value that it is given', () => {
  const keys = configKeys(schemaJson(CONFIG))
  const named = blocks('span').filter(({ text }) => isKey(text, keys))

  const wrong = named.flatMap(({ place, text }) =>
    keyFaultsOf(text, keys).map((fault) => `${place}: ${text}: ${fault}`),
  )

  expect(named.length).toBeGreaterThan(200)
  expect(wrong).toEqual([])
  expect(keyFaultsOf('limits.http.rates', keys)).toEqual(['no such key'])
  expect(keyFaultsOf('serve.page: { enable: false }', keys)).toEqual([expect.stringContaining('enable')])
  expect(keyFaultsOf('update: never', keys)).toEqual([expect.stringContaining('update')])
})

test('each key that a text of the program names is there, and so is each to which another word leads', async () => {
  const keys = configKeys(schemaJson(CONFIG))
  const words = new Set([...keys, ...Object.keys(CONFIG.shape)].flatMap((key) => key.split('.')))
  const isThere = (name: string): boolean =>
    name.includes('.') ? keys.has(name) : words.has(name) || NO_KEYS.has(name)

  const named = (await textsOfProgram()).flatMap(keysNamed)

  expect(named.length).toBeGreaterThan(200)
  expect(named.filter((name) => !isThere(name))).toEqual([])
  expect(Object.values(KEY_SYNONYMS).filter((key) => !words.has(key))).toEqual([])
  expect(
    keysNamed('`policy` decides; set `rate: 5`, serve.form or sources[].evry').filter((name) => !isThere(name)),
  ).toEqual(['policy', 'serve.form', 'sources.evry'])
})

/** Words between backticks that are of MCP, of other programs, values, events or figures. */
const NO_KEYS: ReadonlySet<string> = new Set(
  `argument arguments cursor initialize limit max_tokens notifications offset query get_skill list_skills read_skill_file
  search_skills places invalid_grant semgrep default exact system changes gone leads log recovered`.split(/\s+/),
)

/** The texts in the source of the program, without its comments. */
async function textsOfProgram(): Promise<string[]> {
  const files = (await readdir(SOURCE, { recursive: true })).filter((name) => name.endsWith('.ts'))
  const sources = await Promise.all(files.map(async (name) => readFile(join(SOURCE, name), 'utf8')))
  return sources.flatMap((source) => [...source.replaceAll(COMMENT, '').matchAll(TEXT)].map(([text]) => plain(text)))
}

const COMMENT = /\/\*\*[^]*?\*\/|^\s*\/\/.*$/gm
const TEXT = /'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g

/** A text without its quotes, and without the expressions in it. */
function plain(text: string): string {
  const inner = text.slice(1, -1).replaceAll(/\$\{[^{}]*\}/g, '…')
  return inner.replaceAll('\\`', '`')
}

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url))

/** The words between backticks that can be keys, and the keys with their parents. */
function keysNamed(text: string): string[] {
  const top = Object.keys(CONFIG.shape).join('|')
  const alone = text.matchAll(/`([a-z]+(?:_[a-z]+)*)(?:: [^`]+)?`/g)
  const below = text.matchAll(
    new RegExp(`(?<![\\w./-])((?:${top})(?:\\[\\])?(?:\\.[a-z_]+(?:\\[\\])?)+)(?![\\w./(-])`, 'g'),
  )
  const names = [...alone, ...below].map(([, name = '']) => name.replaceAll('[]', ''))
  // The rest are files, and code between texts.
  return names.filter((name) => !/\.(?:db|jsonl?|length)$/.test(name))
}

/** The files of other programs among the examples, by a key that they begin with. */
function isForeign(text: string): boolean {
  const value: unknown = parseAllDocuments(text)[0]?.toJS()
  return ['scrape_configs', 'repos', 'jobs', 'description'].some((key) => isMapping(value) && Object.hasOwn(value, key))
}

/** The problems of a configuration, or of some keys of a source of any kind. */
function configFaultsOf(text: string): string[] {
  const value: unknown = parseYaml(text)
  if (!isMapping(value)) return ['it is no mapping']
  const isWhole = Object.keys(value).every((key) => Object.hasOwn(CONFIG.shape, key))
  const asSource = ADDRESSES.map((address) => parseFaultsOf({ sources: [{ id: 'team', ...address, ...value }] }))
  // A hub is followed in place of sources.
  const { sources, ...others } = AROUND
  const around = Object.hasOwn(value, 'follow') ? others : { ...others, sources }
  const tried = isWhole ? [parseFaultsOf({ ...around, ...value }), ...asSource] : asSource.toReversed()
  return tried.some((faults) => faults.length === 0) ? [] : (tried[0] ?? [])
}

/** A key with its parents, such as `limits.http.rate`, or a key of the top level or of a source with a value. */
function isKey(text: string, keys: ReadonlySet<string>): boolean {
  const [, first = '', rest = '', value] = /^([a-z_]+)((?:\.[a-z_]+)*)(?:: ([^…]+))?$/.exec(text) ?? []
  if (/\.(?:db|jsonl?|lock|md|yaml)$/.test(rest)) return false
  return value === undefined
    ? rest !== '' && Object.hasOwn(CONFIG.shape, first)
    : keys.has(first) || keys.has(`sources.${first}`)
}

function keyFaultsOf(text: string, keys: ReadonlySet<string>): string[] {
  const [path = '', ...value] = text.split(': ')
  if (value.length === 0) return keys.has(path) ? [] : ['no such key']
  const nested = path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), parseYaml(value.join(': ')))
  return configFaultsOf(stringify(nested))
}

const ADDRESSES = [
  { url: 'https://git.example.com/team/skills.git' },
  { path: '/srv/skills' },
  { mcp: 'https://skills.example.com/mcp' },
  { mcp: 'https://skills.example.com/mcp', approval: 'none' },
]

/** The rest of a configuration, which an example of one key relies on. */
const AROUND = {
  sources: [{ id: 'team', url: 'https://git.example.com/team/skills.git', marketplace: true }],
  packs: [{ id: 'writing', include: [{ source: 'team' }] }],
  serve: { marketplace: { name: 'example-skills' } },
}

function parseFaultsOf(config: object): string[] {
  const read = parseConfig(stringify(config), '/etc/skillsyncd/skillsyncd.yaml', environmentOf({}, '/home/ada'))
  return Array.isArray(read) ? read.map(({ key, message }) => `${key}: ${message}`) : []
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
