import type { Operands } from '../../src/daemon/cli/command.ts'
import { commandIn, isFamily, parseOptions } from '../../src/daemon/command-line.ts'
import { UsageError } from '../../src/daemon/runtime/usage-error.ts'

/** The problems of the arguments of a run of skillsyncd. A placeholder such as COMMAND stands for any command. */
export async function faultsOf(words: readonly string[]): Promise<readonly string[]> {
  if (/^(?:COMMAND|--version|--help)$/.test(words[0] ?? '') || isFamily(words)) return []
  try {
    const { command, args } = await commandIn(words)
    const { values, positionals } = parseOptions(command, args)
    if (values['help'] === true || values['from-marketplace'] !== undefined) return []
    return operandFaultsOf(command.operands, positionals)
  } catch (error) {
    if (error instanceof UsageError) return [error.message]
    throw error
  }
}

function operandFaultsOf(operands: Operands | undefined, given: readonly string[]): string[] {
  if (given.length > (operands?.most ?? 0)) return [`too many operands: ${given.join(' ')}`]
  if (operands === undefined) return []
  // `SOURCE [COMMIT] | SKILL…` as two lists of words.
  const alternatives = operands.text.split(' | ').map((text) => text.split(' '))
  const least = alternatives.map((words) => words.filter((word) => !word.startsWith('[')).length)
  if (given.length < Math.min(...least)) return [`too few operands: ${operands.text}`]
  const words = alternatives.map(([word = '']) => word)
  const isChoice = words.every((word) => /^[a-z-]+$/.test(word))
  return isChoice && !words.includes(given[0] ?? '') ? [`"${given[0]}" is not one of ${words.join(', ')}`] : []
}
