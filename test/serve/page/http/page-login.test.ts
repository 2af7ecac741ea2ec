import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { loginPage } from '../../../../src/serve/page/http/login-page.ts'
import { destinationIn } from '../../../../src/serve/page/http/page-login.ts'

const HUB = 'https://example.com'
/** The path of `public_url`: other applications are beside it on the same host. */
const ROOT = '/hub/'
const PIECES = [
  'skills/',
  'sources',
  'changes',
  '?',
  '..',
  '../',
  '%2e%2e',
  '.%2E/',
  '%2f',
  '%5C',
  '/',
  '//',
  '\\',
  ':',
  'https:',
  '@',
  '.',
  '%',
  '\n',
]

test('whatever is asked for, a sign-in leads to no address beside the hub, and to none of the login', () => {
  const words = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...PIECES, 'evil.example', 'javascript:', 'login/start') },
    { weight: 1, arbitrary: fc.string() },
  )

  fc.assert(
    fc.property(fc.constantFrom('', 'skills/'), fc.array(words, { maxLength: 8 }), (start, pieces) => {
      const to = destinationIn(new URLSearchParams({ to: start + pieces.join('') }))

      for (const from of ['login', 'login/callback', 'skills/team/alpha/']) {
        const up = '../'.repeat(from.split('/').length - 1)
        // A proxy may decode slashes before it resolves dots.
        for (const sent of [to, to.replaceAll(/%2f|%5c/gi, '/')]) {
          const { origin, pathname } = new URL(`./${up}${sent}`, HUB + ROOT + from)
          expect(origin).toBe(HUB)
          expect(pathname).toBe(ROOT + sent.replace(/\?.*$/s, ''))
          expect(pathname.slice(ROOT.length)).not.toMatch(/^login/)
        }
      }
      expect(to).not.toMatch(/^login|[\s;"<>\\]/)
    }),
    { numRuns: 2_000 },
  )
})

test('a page of ours is gone on to as it was asked for', () => {
  const pages = [
    '',
    'sources',
    'changes?pending=team',
    'skills/team/a-b/SKILL.md?as=text',
    'skills/team/a..b/.x/%20?at=../..',
    '?q=two+words&sort=name',
  ]

  expect(pages.map((to) => destinationIn(new URLSearchParams({ to })))).toEqual(pages)
})

test.each([
  'skills/../../other-app/delete?id=1',
  'skills/%2e%2e/%2e%2e/x',
  'skills/.%2E/..',
  'skills/..%2f..%2Fx',
  'skills/a/..%5c../x',
  'skills/../login/start',
  'skills/./a',
])('an address that leads out of the hub, or to the login, is replaced by the start page: %s', (to) => {
  expect(destinationIn(new URLSearchParams({ to }))).toBe('')
})

test('only a form after a refused token says that it has no access', () => {
  const form = { up: '', to: '' }

  expect(loginPage('Hub', form)).not.toContain('role="alert"')
  expect(loginPage('Hub', { ...form, isRefused: true })).toContain('role="alert"')
})
