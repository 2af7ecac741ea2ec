import { expect, test } from 'vitest'
import { commandNotes, shellCommandsIn } from '../../../../src/sync/model/changes/shell-commands.ts'

test.each([
  ['inline', 'State: !`git status` and !`git status`, then !`date`', ['git status', 'date']],
  ['a block', 'Before\n```!\nnode --version\nnpm --version\n```\nAfter', ['node --version\nnpm --version']],
  ['a block of tildes with backticks in it', '~~~!\necho `id`\n~~~', ['echo `id`']],
  ['a block without an end', '```!\nwhoami', ['whoami']],
  ['two blocks', '```!\none\n```\n```!\ntwo\n```', ['one', 'two']],
  ['text without any', 'Run `date`! Or ``` code ```. !`` Nothing.', []],
])('commands that run when a skill is loaded: %s', (_, text, commands) => {
  expect(shellCommandsIn(text)).toEqual(commands)
})

test('of the commands, those that are new are noted, and a long list is cut', () => {
  const many = Array.from({ length: 12 }, (_, number) => `!\`new ${number}\``).join(' ')

  expect(commandNotes('!`date`', '!`date`')).toEqual([])
  expect(commandNotes('!`date`', '!`date` !`id`')).toMatchObject([{ isCritical: true, values: ['id'] }])
  expect(commandNotes('', many)).toMatchObject([
    { text: '12 new shell commands when it is loaded, of which the first 10 are', values: { length: 10 } },
  ])
})

test('a text of many beginnings and no end is searched in linear time', () => {
  const text = '```!\n!`'.repeat(60_000)

  expect(shellCommandsIn(text).length).toBeLessThan(60_000)
})
