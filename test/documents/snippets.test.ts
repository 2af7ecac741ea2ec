import { spawnSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parse as parseToml } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { parse as parseYaml, parseAllDocuments, stringify } from 'yaml'
import { COMMANDS } from '../../src/daemon/cli/cli.ts'
import type { Command, Operands } from '../../src/daemon/cli/command.ts'
import { optionsOf } from '../../src/daemon/cli/help/help.ts'
import { parseConfig } from '../../src/daemon/config/config.ts'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import { CONFIG } from '../../src/daemon/config/schema.ts'
import { Authority } from '../support/http/certificates.ts'
import { hasProgram } from '../support/process/has-program.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { runsIn } from './command-lines.ts'
import { TO_COME } from './commands-to-come.ts'
import { snippets, snippetsIn } from './snippets.ts'

const ALL = await snippets()
const commands = new Map(await Promise.all([...COMMANDS].map(async ([name, load]) => [name, await load()] as const)))

describe('command lines', () => {
  test('each in a block or a sentence names a command with its options and as many operands as it takes', () => {
    const runs = ALL.flatMap(({ place, language, text }) => runsOf(language, text).map((args) => ({ place, args })))

    const wrong = runs.flatMap(({ place, args }) =>
      faultsOf(args).map((fault) => `${place}: ${args.join(' ')}: ${fault}`),
    )

    expect(runs.length).toBeGreaterThan(300)
    expect(wrong).toEqual([])
  })

  test.each([
    ['sudo skillsyncd statsu', 'no such command'],
    ['cat x | skillsyncd status --chek', 'Unknown option'],
    ['docker exec hub skillsyncd pin team a b', 'too many operands'],
    ['npx -p skillsyncd skillsyncd why', 'too few operands'],
    ['skillsyncd token mint ada', 'not one of add, list, renew, revoke'],
    ['source <(skillsyncd completion basch)', 'not one of bash, zsh, fish'],
    ['skillsyncd backup \\\n  one two   # comment', 'too many operands'],
    ['skillsyncd search --limit', 'argument missing'],
  ])('%j is wrong', (line, fault) => {
    const faults = runsOf('sh', line).flatMap(faultsOf)

    expect(faults).toEqual([expect.stringContaining(fault)])
  })

  test.skipIf(!hasProgram('bash')).each(blocks('sh'))('$place is a script that bash can read', ({ text }) => {
    const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' })

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })

  test('what is said to come is not there yet', () => {
    const there = TO_COME.filter(({ name, operands, options = {} }) => {
      const command = commands.get(name)
      if (command === undefined) return false
      const words = alternativesOf(command.operands)
      return (
        Object.keys(options).every((option) => Object.hasOwn(command.options ?? {}, option)) &&
        alternativesOf(operands).every(([word = '']) => words.some(([first]) => first === word))
      )
    })

    expect(there.map(({ name }) => name)).toEqual([])
  })
})

describe('configurations', () => {
  test('each block of YAML is a configuration that is accepted, or the file of another program', () => {
    const yaml = blocks('yaml').filter(({ text }) => !isForeign(text))

    const wrong = yaml.flatMap(({ place, text }) => configFaultsOf(text).map((fault) => `${place}: ${fault}`))

    expect(yaml.length).toBeGreaterThan(25)
    expect(wrong).toEqual([])
  })

  test.each([
    ['sources:\n  - id: team\n    url: https://git.example.com/x.git\n    evry: 5m\n', 'evry'],
    ['serve: { tools: { enable: false } }', 'enable'],
    ['aproval: none\nunverifiable: serve\n', 'aproval'],
    ['approval: never\n', 'approval'],
    ['publish:\n  - git: https://git.example.com/x.git\n    pack: other\n', 'publish[0].pack'],
  ])('%j is wrong', (text, key) => {
    expect(isForeign(text)).toBe(false)
    expect(configFaultsOf(text).join('\n')).toContain(key)
  })
})

describe('other files', () => {
  test('each block of JSON can be read, and starts a command that there is', () => {
    const json = blocks('json')

    const wrong = json.flatMap(({ place, text }) =>
      startsIn(JSON.parse(text)).flatMap((args) => faultsOf(args).map((fault) => `${place}: ${fault}`)),
    )

    expect(json.length).toBeGreaterThan(5)
    expect(json.flatMap(({ text }) => startsIn(JSON.parse(text))).length).toBeGreaterThan(0)
    expect(wrong).toEqual([])
  })

  test.each(blocks('toml'))('$place is TOML', ({ text }) => {
    expect(parseToml(text)).toMatchObject({ mcp_servers: { skills: { url: expect.any(String) } } })
  })

  test.skipIf(!hasProgram('nginx')).each(blocks('nginx'))('nginx takes $place', async ({ text }) => {
    expect(await nginxFaultOf(text)).toBe('')
  })

  test.skipIf(!hasProgram('nginx'))('nginx does not take a directive that it does not know', async () => {
    const [block] = blocks('nginx')

    const fault = await nginxFaultOf(block?.text.replace('proxy_buffering', 'proxy_bufering') ?? '')

    expect(fault).toContain('unknown directive "proxy_bufering"')
  })
})

test('a block is found with its line, below a list too, and no code within it is a span', () => {
  const text = 'Run `a\nb` or\n\n1. this:\n\n   ```sh\n   c `d`\n     e\n   ```\n'

  expect(snippetsIn('x.md', text)).toEqual([
    { place: 'x.md:6', language: 'sh', text: 'c `d`\n  e\n' },
    { place: 'x.md:1', language: 'span', text: 'a b' },
  ])
})

function blocks(language: string) {
  return ALL.filter((snippet) => snippet.language === language)
}

/** A span is a command line where it begins with the program and a command; a command alone is only its name. */
function runsOf(language: string, text: string): string[][] {
  if (language === 'sh') return runsIn(text)
  const isRun = language === 'span' && /^skillsyncd [a-z]/.test(text) && !PREFIXES.has(text)
  return isRun ? runsIn(text).map((args) => (args.length === 1 ? args.concat('--help') : args)) : []
}

/** What digests begin with is no command line. */
const PREFIXES: ReadonlySet<string> = new Set(['skillsyncd skill v1', 'skillsyncd set v1'])

/** A placeholder such as COMMAND stands for any command. */
function faultsOf([name = '', ...args]: readonly string[]): string[] {
  if (/^(?:COMMAND|--version)$/.test(name)) return []
  const command = commandOf(name)
  if (command === undefined) return [`no such command "${name}"`]
  try {
    const { values, positionals } = parseArgs({
      args,
      options: optionsOf(command),
      allowPositionals: true,
      strict: true,
    })
    return values['help'] === true || values['from-marketplace'] !== undefined
      ? []
      : operandFaultsOf(command.operands, positionals)
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

function commandOf(name: string): Command | undefined {
  const table = commands.get(name)
  const coming = TO_COME.find((entry) => entry.name === name)
  if (table === undefined && coming === undefined) return undefined
  const operands = [table?.operands, coming?.operands].filter((each) => each !== undefined)
  return {
    summary: '',
    run: () => Promise.resolve(0),
    ...table,
    name,
    options: { ...table?.options, ...coming?.options },
    ...(operands.length > 0 && {
      operands: {
        text: operands.map(({ text }) => text).join(' | '),
        most: Math.max(...operands.map(({ most }) => most)),
      },
    }),
  }
}

function operandFaultsOf(operands: Operands | undefined, given: readonly string[]): string[] {
  if (given.length > (operands?.most ?? 0)) return [`too many operands: ${given.join(' ')}`]
  const alternatives = alternativesOf(operands)
  const least = alternatives.map((words) => words.filter((word) => !word.startsWith('[')).length)
  if (operands === undefined) return []
  if (given.length < Math.min(...least)) return [`too few operands, ${operands?.text}`]
  const words = alternatives.map(([word = '']) => word)
  const isChoice = words.every((word) => /^[a-z-]+$/.test(word))
  return isChoice && !words.includes(given[0] ?? '') ? [`"${given[0]}" is not one of ${words.join(', ')}`] : []
}

/** `SOURCE [COMMIT] | SKILL…` as two lists of words. */
function alternativesOf(operands: Operands | undefined): string[][] {
  return operands?.text.split(' | ').map((text) => text.split(' ')) ?? []
}

/** The files of other programs among the examples, by a key that they begin with. */
function isForeign(text: string): boolean {
  const value: unknown = parseAllDocuments(text)[0]?.toJS()
  return ['scrape_configs', 'repos', 'jobs', 'description'].some((key) => isMapping(value) && Object.hasOwn(value, key))
}

/** What is wrong with a configuration, or with some keys of a source of any kind. */
function configFaultsOf(text: string): string[] {
  const value: unknown = parseYaml(text)
  if (!isMapping(value)) return ['it is no mapping']
  const isWhole = Object.keys(value).every((key) => Object.hasOwn(CONFIG.shape, key))
  if (isWhole) return parseFaultsOf({ ...AROUND, ...value })
  const tried = ADDRESSES.map((address) => parseFaultsOf({ sources: [{ id: 'team', ...address, ...value }] }))
  return tried.some((faults) => faults.length === 0) ? [] : (tried.at(-1) ?? [])
}

const ADDRESSES = [
  { url: 'https://git.example.com/team/skills.git' },
  { path: '/srv/skills' },
  { mcp: 'https://skills.example.com/mcp' },
]

/** What an example that shows one key relies on. */
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

/** The arguments of each program of ours that a configuration of a client starts. */
function startsIn(value: unknown): string[][] {
  if (Array.isArray(value)) return value.flatMap(startsIn)
  if (!isMapping(value)) return []
  const { command, args } = value
  const own = command === 'skillsyncd' && Array.isArray(args) ? [args.map(String)] : []
  return [...own, ...Object.values(value).flatMap(startsIn)]
}

/** What nginx says of a file in its `conf.d`, with a certificate of its own and without a port; empty if it is accepted. */
async function nginxFaultOf(text: string): Promise<string> {
  await using folder = await temporaryFolder()
  const { cert, key } = new Authority().vouchFor(['skills.example.com'])
  const at = (name: string): string => join(folder.path, name)
  await mkdir(at('tmp'))
  await writeFile(at('fullchain.pem'), cert)
  await writeFile(at('privkey.pem'), key)
  const here = text
    .replaceAll(/\/etc\/letsencrypt\/live\/[^/]+/g, folder.path)
    .replaceAll(/listen (\d+)/g, `listen unix:${folder.path}/$1.sock`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${at('tmp')};`)
  await writeFile(at('nginx.conf'), `pid ${at('pid')};\nevents {}\nhttp {\n${temporary.join('\n')}\n${here}}\n`)
  const { status, stderr } = spawnSync(
    'nginx',
    ['-t', '-q', '-e', 'stderr', '-p', folder.path, '-c', at('nginx.conf')],
    {
      encoding: 'utf8',
    },
  )
  return status === 0 ? '' : stderr
}
