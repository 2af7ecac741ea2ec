import { expect, test } from 'vitest'
import { shellWord } from '../../../src/base/text/shell-word.ts'

test.each([
  ['http://[::1]:8741/mcp', "'http://[::1]:8741/mcp'"],
  ["https://e.example/a'b", `'https://e.example/a'\\''b'`],
  ['/home/ada/My App', "'/home/ada/My App'"],
  ['', "''"],
])('what a shell would take for anything but one plain word is quoted: %s', (text, quoted) => {
  expect(shellWord(text)).toBe(quoted)
})

test.each(['https://skills.example.com:8741/mcp', '/home/ada/app_1', 'team/alpha', 'a@b+c%20'])(
  'a plain word stays as it is: %s',
  (text) => {
    expect(shellWord(text)).toBe(text)
  },
)
