import type { Command } from '../../src/daemon/cli/command.ts'

type Entry = Pick<Command, 'name' | 'operands' | 'options'>

/**
 * The commands, subcommands and options that the documents describe and the table of commands lacks. A test fails for
 * each that the table has by now: then it leaves this list.
 */
export const TO_COME: readonly Entry[] = [
  { name: 'remove', operands: { text: 'SOURCE…', most: Number.POSITIVE_INFINITY } },
  { name: 'stop' },
  { name: 'version' },
  { name: 'new', operands: { text: 'SKILL', most: 1 } },
  {
    name: 'mcp-source',
    operands: { text: 'preview | mirror | templates | resolve | add-uri', most: Number.POSITIVE_INFINITY },
    options: { unverified: { type: 'boolean', help: '' }, remove: { type: 'boolean', help: '' } },
  },
  { name: 'service', operands: { text: 'uninstall', most: 1 } },
  { name: 'init', options: { here: { type: 'boolean', help: '' } } },
]
