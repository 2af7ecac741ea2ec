import { expect, test } from 'vitest'
import { toolsIn } from '../../../src/sync/skill/tool-list.ts'

test.each([
  ['Bash(git add:*) Read', ['Bash(git add:*)', 'Read']],
  ['Bash(a, (b c)), Read', ['Bash(a, (b c))', 'Read']],
  ['Bash) Read, Write', ['Bash)', 'Read', 'Write']],
  [')) Bash(a b) Read', ['))', 'Bash(a b)', 'Read']],
])('the tools of %j are parted outside of parentheses, whatever closes without having been opened', (text, tools) => {
  expect(toolsIn(text)).toEqual(tools)
})
