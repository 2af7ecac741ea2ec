import { expect, test } from 'vitest'
import { CALLS } from '../../../src/daemon/command-table.ts'
import { messageHtml } from '../../../src/serve/page/message.ts'

const ID = 'a1'.repeat(20)
const SOURCES = new Set(['vendor'])

test.each([
  [
    `Review it with skillsyncd diff served upstream --only vendor, then skillsyncd approve vendor ${ID}`,
    ['skillsyncd diff served upstream --only vendor', `skillsyncd approve vendor ${ID}`],
  ],
  ['skillsyncd why team/pdf names it', ['skillsyncd why team/pdf']],
  ['skillsyncd sync vendor fetches it again', ['skillsyncd sync vendor']],
  ['skillsyncd sync, or a restart, serves it', ['skillsyncd sync']],
  [
    'skillsyncd hub token renew CI, or skillsyncd hub token revoke CI',
    ['skillsyncd hub token renew CI', 'skillsyncd hub token revoke CI'],
  ],
  ["skillsyncd enable 'team/a b' accepts it", ["skillsyncd enable 'team/a b'"]],
  ['Write that into `url`, with `lock: ignore` too', ['url', 'lock: ignore']],
  ['one ` alone, and skillsyncd', []],
  ['The repository of skillsyncd is no command', []],
])('the commands in %j are code', (text, commands) => {
  const { html } = messageHtml(text, SOURCES)

  expect(Array.from(html.matchAll(/<code>(.*?)<\/code>/g), ([, code = '']) => code.replaceAll('&#39;', "'"))).toEqual(
    commands,
  )
  const shown = html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&#39;', "'")
    .replaceAll('`', '')
  expect(shown).toBe(text.replaceAll('`', ''))
})

test('an id beside commands is short, and the text is text', () => {
  const { html } = messageHtml(`moved to ${ID}: <b>\u202E</b> skillsyncd <script>`, SOURCES)

  expect(html).toContain(`<code title="${ID}">${ID.slice(0, 12)}</code>`)
  expect(html).not.toMatch(/<b>|<script>/)
  expect(html).toContain('U+202E')
})

test('each command of the program is known', () => {
  const names = [...CALLS.keys()].filter((name) => !name.startsWith('--'))
  const isCode = (name: string): boolean =>
    messageHtml(`skillsyncd ${name} is it`, SOURCES).html.startsWith(`<code>skillsyncd ${name}`)

  expect(names.length).toBeGreaterThan(30)
  expect(names.filter((name) => !isCode(name))).toEqual([])
})
