import { parseArgs } from 'node:util'
import { COMMANDS } from '../../src/daemon/cli/cli.ts'
import type { Command, Operands } from '../../src/daemon/cli/command.ts'
import { optionsOf } from '../../src/daemon/cli/help/help.ts'
import { TO_COME } from './commands-to-come.ts'

export const commands = new Map(
  await Promise.all([...COMMANDS].map(async ([name, load]) => [name, await load()] as const)),
)

/** A placeholder such as COMMAND stands for any command. */
export function faultsOf([name = '', ...args]: readonly string[]): string[] {
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
export function alternativesOf(operands: Operands | undefined): string[][] {
  return operands?.text.split(' | ').map((text) => text.split(' ')) ?? []
}
