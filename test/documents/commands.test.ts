import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { hasProgram } from '../support/process/has-program.ts'
import { alternativesOf, commands, faultsOf } from './command-faults.ts'
import { runsIn } from './command-lines.ts'
import { TO_COME } from './commands-to-come.ts'
import { blocks } from './snippets.ts'

test('each in a block or a sentence names a command with its options and as many operands as it takes', () => {
  const runs = ['sh', 'span'].flatMap((language) =>
    blocks(language).flatMap(({ place, text }) => runsOf(language, text).map((args) => ({ place, args }))),
  )

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

/** A span is a command line where it begins with the program and a command; a command alone is only its name. */
function runsOf(language: string, text: string): string[][] {
  if (language === 'sh') return runsIn(text)
  const isRun = language === 'span' && /^skillsyncd [a-z]/.test(text) && !PREFIXES.has(text)
  return isRun ? runsIn(text).map((args) => (args.length === 1 ? args.concat('--help') : args)) : []
}

/** The prefixes of digests, which are not command lines. */
const PREFIXES: ReadonlySet<string> = new Set(['skillsyncd skill v1', 'skillsyncd set v1'])
