import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { isFamily } from '../../src/daemon/command-line.ts'
import { neededProgram } from '../support/process/has-program.ts'
import { faultsOf } from './command-faults.ts'
import { runsIn } from './command-lines.ts'
import { blocks } from './snippets.ts'

test('each in a block or a sentence names a command with its options and as many operands as it takes', async () => {
  const runs = ['sh', 'span'].flatMap((language) =>
    blocks(language).flatMap(({ place, text }) => runsOf(language, text).map((args) => ({ place, args }))),
  )

  const wrong = runs.map(async ({ place, args }) =>
    (await faultsOf(args)).map((fault) => `${place}: ${args.join(' ')}: ${fault}`),
  )

  expect(runs.length).toBeGreaterThan(300)
  expect((await Promise.all(wrong)).flat()).toEqual([])
})

test.each([
  ['sudo skillsyncd statsu', 'There is no command "statsu"'],
  ['skillsyncd mcp-source miror hub/pdf', 'There is no command "mcp-source miror"'],
  ['cat x | skillsyncd status --chek', 'Unknown option'],
  ['docker exec hub skillsyncd hold team a b', 'too many operands'],
  ['npx -p skillsyncd skillsyncd why', 'too few operands'],
  ['skillsyncd hub token mint ada', 'not one of add, list, renew, revoke'],
  ['source <(skillsyncd --completion basch)', 'not one of bash, zsh, fish'],
  ['skillsyncd store backup \\\n  one two   # comment', 'too many operands'],
  ['skillsyncd list --limit', 'argument missing'],
])('%j is wrong', async (line, fault) => {
  const faults = await Promise.all(runsOf('sh', line).map(faultsOf))

  expect(faults.flat()).toEqual([expect.stringContaining(fault)])
})

test.each(blocks('sh'))('$place is a script that bash can read', ({ text }) => {
  neededProgram('bash')
  const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' })

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

/** A span is a command line where it begins with the program and a command; a command alone is only its name. */
function runsOf(language: string, text: string): string[][] {
  if (language === 'sh') return runsIn(text)
  const isRun = language === 'span' && /^skillsyncd [a-z]/.test(text) && !PREFIXES.has(text)
  return isRun ? runsIn(text).map((args) => (isName(args) ? args.concat('--help') : args)) : []
}

function isName(args: readonly string[]): boolean {
  return args.length === 1 || (args.length === 2 && isFamily(args.slice(0, 1)))
}

/** The prefixes of digests, which are not command lines. */
const PREFIXES: ReadonlySet<string> = new Set(['skillsyncd skill v1', 'skillsyncd set v1'])
