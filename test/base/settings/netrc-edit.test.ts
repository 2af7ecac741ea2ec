import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { EditRefused } from '../../../src/base/settings/edit-refused.ts'
import { netrcToken, withNetrcToken } from '../../../src/base/settings/netrc-edit.ts'
import { lawRuns } from '../../support/law-runs.ts'

const LINE = 'machine hub login token password sks_new\n'

test.each([
  ['', LINE],
  ['machine other login a password b', `machine other login a password b\n${LINE}`],
  [
    'machine hub\n  login token\n  password sks_old # mine\n',
    'machine hub\n  login token\n  password sks_new # mine\n',
  ],
  ['machine hub password sks_old login token', 'machine hub password sks_new login token'],
  ['default login anonymous password a@b\n', `${LINE}default login anonymous password a@b\n`],
  ['machine a login b password c\nmacdef init\ncd /x\n', `${LINE}machine a login b password c\nmacdef init\ncd /x\n`],
  ['# machine hub login me password x\n', `# machine hub login me password x\n${LINE}`],
  ['machine a login b password machine\r\n', `machine a login b password machine\r\n${LINE.trim()}\r\n`],
  [
    'macdef init\nmachine hub login x\n\nmachine hub login token password old',
    'macdef init\nmachine hub login x\n\nmachine hub login token password sks_new',
  ],
])('the token of %j', (text, after) => {
  expect(withNetrcToken(text, 'hub', 'sks_new')).toMatchObject({ text: after, changed: ['machine hub'] })
  expect(withNetrcToken(after, 'hub', 'sks_new')).toMatchObject({ text: after, changed: [] })
  expect(netrcToken(after, 'hub')).toBe('sks_new')
})

test.each([
  ['x\nmachine hub login me password s3cret', 'line 1: a keyword'],
  ['\nmachine hub login me password s3cret', 'line 2: machine hub has another login'],
  ['machine hub password s3cret', 'has another login'],
  ['machine hub login token', 'has another login'],
  [`${LINE}${LINE}`, 'line 2: machine hub is there twice'],
  ['machine hub login token password "s3cret"', 'in quotes'],
  ['login me password s3cret', '"machine" is expected first'],
  ['machine', 'a word is missing'],
])('%j is refused, without a secret', (text, message) => {
  const refused = () => withNetrcToken(text, 'hub', 'sks_new')

  expect(refused).toThrow(EditRefused)
  expect(refused).toThrow(message)
  expect(refused).not.toThrow(/s3cret|sks_/)
})

test('any other entry stays, and a second edit changes nothing', () => {
  const word = fc.stringMatching(/^[a-z]{1,5}$/)
  const entry = fc
    .tuple(word, word, word, fc.constantFrom(' ', '\n\t', '\r\n'))
    .map(([name, login, password, gap]) => ['machine', `h-${name}`, 'login', login, 'password', password].join(gap))
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 4 }), fc.constantFrom('\n', '\n\n'), (entries, gap) => {
      const text = entries.join(gap)

      const { text: after } = withNetrcToken(text, 'hub', 'sks_new')

      expect(after.startsWith(text)).toBe(true)
      expect(withNetrcToken(after, 'hub', 'sks_new')).toMatchObject({ text: after, changed: [] })
      expect(netrcToken(after, 'hub')).toBe('sks_new')
    }),
    { numRuns: lawRuns(5_000, 0.05) },
  )
})

test('names of hosts have no case', () => {
  const text = 'machine Hub.Example.com login token password OLD\n'

  expect(netrcToken(text, 'hub.example.com')).toBe('OLD')
  expect(withNetrcToken(text, 'hub.example.com', 'NEW').text).toBe('machine Hub.Example.com login token password NEW\n')
})
