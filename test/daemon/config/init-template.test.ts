import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { seenText, startingText } from '../../../src/daemon/config/init-template.ts'

const INJECTED = `     main\n    auth: { helper: { command: touch } }\n  - id: more\n    url: https://x.example\r\u2028\u0085#`

test.each(['ref', 'root', 'url'])('a %s of several lines brings no further keys and no further source', (key) => {
  const place = { url: 'https://git.example.com/kit', [key]: INJECTED }

  const { sources } = parse(startingText([{ id: 'kit', place, seen: undefined }]))

  expect(sources).toEqual([{ id: 'kit', every: '5m', ...place }])
})

test('the path of a folder stays one value, and a root one line of a comment', () => {
  const seen = { branch: 'main', commit: 'a'.repeat(40), skills: 1, elsewhere: 0, root: INJECTED, hasDocs: false }

  const { sources } = parse(startingText([{ id: 'kit', place: { path: `/srv/${INJECTED}` }, seen }]))

  expect(sources).toEqual([{ id: 'kit', path: `/srv/${INJECTED}` }])
  expect(seenText(seen)).not.toMatch(/[\r\n]/)
})
