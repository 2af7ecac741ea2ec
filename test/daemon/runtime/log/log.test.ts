import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Log } from '../../../../src/base/log.ts'
import { createLog, type LogOptions } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { cpuSeconds } from '../../../support/effort.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

test('a line is a JSON object with the time, the level, the event and its fields', () => {
  const { log, lines } = logged()

  log.info('updated', { source: 'team', skills: 3, first: true, at: new Date(0), absent: undefined, ids: ['a', 'b'] })

  expect(lines).toEqual([
    '{"time":"2026-06-15T12:00:00.000Z","level":"info","event":"updated","source":"team","skills":3,"first":true,' +
      '"at":"1970-01-01T00:00:00.000Z","ids":["a","b"]}\n',
  ])
})

test('a line for people is short', () => {
  const { log, lines } = logged({ format: 'text' })

  log.warn('pull-failed', { source: 'team', code: 'dns-failed', message: 'no such host', retries: 2 })

  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(
    /^\d\d:00:00 warn pull-failed source=team code=dns-failed message="no such host" retries=2\n$/,
  )
})

test('what lies below the level is not written', () => {
  const { log, lines } = logged({ level: 'warn' })

  for (const level of ['error', 'warn', 'info', 'debug'] as const) log[level]('event')

  expect(lines.map((line) => JSON.parse(line).level)).toEqual(['error', 'warn'])
})

test('the journal gets the priority of each line', () => {
  const { log, lines } = logged({ journal: true, level: 'debug' })

  for (const level of ['error', 'warn', 'info', 'debug'] as const) log[level]('event')

  expect(lines.map((line) => line.slice(0, 4))).toEqual(['<3>{', '<4>{', '<6>{', '<7>{'])
})

test('no field takes the place of the time, the level or the event', () => {
  const { log, lines } = logged()

  log.info('updated', { event: 'deleted', level: 'debug', time: 'never' })

  expect(lines[0]).toMatch(/^\{"time":"2026-06-15T12:00:00.000Z","level":"info","event":"updated"\}\n$/)
})

test('an error is written with its code and what caused it, a ring of causes included', () => {
  const { log, lines } = logged()
  const cause = new Error('connect ECONNREFUSED')
  cause.cause = cause

  log.error('sync-failed', { error: new SyncError('source-unreachable', 'Cannot reach "team"', { cause }) })

  expect(JSON.parse(lines[0]!).error).toMatchObject({
    name: 'SyncError',
    code: 'source-unreachable',
    message: 'Cannot reach "team"',
    cause: { name: 'Error', message: 'connect ECONNREFUSED' },
  })
})

test('the same failure of a source is written once and then counted, until it is another one or over', () => {
  const { log, lines } = logged()
  const dns = { source: 'team', code: 'dns-failed' }
  const tls = { source: 'team', code: 'tls-failed' }

  for (const failure of [dns, dns, dns, tls, tls]) log.failure('warn', 'pull-failed', failure)
  log.failure('warn', 'pull-failed', { ...dns, source: 'other' })
  for (let times = 0; times < 2; times += 1) log.recovery('pull-failed', 'team')
  log.failure('warn', 'pull-failed', tls)

  expect(
    lines.map((line) => JSON.parse(line)).map(({ event, source, code, repeated }) => [event, source, code, repeated]),
  ).toEqual([
    ['pull-failed', 'team', 'dns-failed', undefined],
    ['pull-failed', 'team', 'tls-failed', 2],
    ['pull-failed', 'other', 'dns-failed', undefined],
    ['recovered', 'team', 'tls-failed', 1],
    ['pull-failed', 'team', 'tls-failed', undefined],
  ])
})

test('a week of the same failure is one line', () => {
  const { log, lines } = logged()

  for (let hour = 0; hour < 168; hour += 1) {
    log.failure('warn', 'pull-failed', { source: 'team', code: 'source-unreachable' })
  }

  expect(lines).toHaveLength(1)
})

test('a secret is not written wherever it stands', () => {
  const redactor = new Redactor()
  const canary = 'CANARY-s3cr3t/+ä'
  redactor.add(`${canary}\n`)
  const { log, lines } = logged({ redactor, level: 'debug' })
  const cause = new Error(`Authorization refused for ${canary}`)

  log.error(canary, { error: new SyncError('credentials-rejected', `Cannot use ${canary}`, { cause }) })
  log.warn('event', { [canary]: [canary], url: `https://x/?q=${encodeURIComponent(canary)}` })
  log.failure('warn', 'pull-failed', { source: canary, code: canary })

  expect(lines).toHaveLength(3)
  expect(lines.join('')).not.toMatch(/CANARY|s3cr3t/)
})

test.each([
  ['https://user:CANARY@host/x', 'https://***@host/x'],
  ['https://user:CANARY/CANARY?CANARY@host/x', 'https://***@host/x'],
  ['https://host:8080/a@b, http://[::1]:80/a@b', 'https://host:8080/a@b, http://[::1]:80/a@b'],
  ['ssh://CANARY@host, https://a:CANARY@b@c/d', 'ssh://***@host, https://***@c/d'],
  ['Authorization: Bearer CANARY', 'Authorization: ***'],
  ['{"authorization":"Basic CANARY"}', '{"authorization":"***"}'],
  ['proxy-authorization = CANARY', 'proxy-authorization = ***'],
  ['PRIVATE-TOKEN: CANARY\nnext', 'PRIVATE-TOKEN: ***\nnext'],
  ['sent bearer CANARY12 to it', 'sent bearer *** to it'],
  ['GET /x?a=1&access_token=CANARY&b=2', 'GET /x?a=1&access_token=***&b=2'],
  ['https://host/@scope/package', 'https://host/@scope/package'],
  ['mail me@example.com about https://host', 'mail me@example.com about https://host'],
])('29: %j is written as %j though nobody told of a secret', (text, written) => {
  expect(new Redactor().clean(text)).toBe(written)
})

test('a value that goes by the name of a secret is not written', () => {
  const { log, lines } = logged()

  log.info('event', { token: 'CANARY', webhookSecret: 'CANARY', Authorization: ['CANARY'], tokens: 3 })

  expect(lines[0]).not.toContain('CANARY')
  expect(JSON.parse(lines[0]!)).toMatchObject({ token: '***', tokens: 3 })
})

test('a secret within another leaves no rest of it, and an empty one hides nothing', () => {
  const redactor = new Redactor()

  for (const secret of ['', ' \n', 'abc', 'xxabcyy']) redactor.add(secret)

  expect(redactor.clean('is xxabcyy and abc')).toBe('is *** and ***')
})

test('two secrets that overlap leave no rest of either', () => {
  const redactor = new Redactor()

  for (const secret of ['abcdef', 'defghi']) redactor.add(secret)

  expect(redactor.clean('is abcdefghi abcdefabcdef')).toBe('is *** ******')
})

const KEY = [
  '-----BEGIN RSA PRIVATE KEY-----',
  'MIIEowIBAAKCAQEAcanary1',
  'QyNTUxOQAAACAcanary2/w==',
  '-----END RSA PRIVATE KEY-----',
]

test.each([
  ['as it stands in JSON', (secret: string) => JSON.stringify({ secret })],
  ['as it stands in JSON within JSON', (secret: string) => JSON.stringify(JSON.stringify({ secret }))],
  ['as it stands in a path', (secret: string) => `/a/${encodeURIComponent(secret)}/b`],
  [
    'with small hexadecimal digits',
    (secret: string) => encodeURIComponent(secret).replaceAll(/%../g, (hex) => hex.toLowerCase()),
  ],
  ['as it stands in a form', (secret: string) => new URLSearchParams({ secret }).toString()],
  ['as it stands in base64, whatever follows', (secret: string) => Buffer.from(`${secret}xyz`).toString('base64')],
  ['as it stands in base64url', (secret: string) => Buffer.from(secret).toString('base64url')],
])('a secret of several lines is taken out %s, whole or by the line', (_, written) => {
  const redactor = new Redactor()
  redactor.add(`${KEY.join('\n')}\n`)
  redactor.add('CANARY "quoted" + ümlaut/slash')

  const whole = redactor.clean(written(KEY.join('\n')))
  const lines = KEY.slice(1, 3).map((line) => redactor.clean(written(line)))
  const other = redactor.clean(written('CANARY "quoted" + ümlaut/slash'))

  for (const text of [whole, ...lines, other]) {
    expect(text).toContain('***')
    expect(text).not.toMatch(/canary|MIIEowIBAAKCAQEA|QyNTUxOQAAACA|quoted|Q0FOQVJ|TUlJRW93|UXlOVFV4/i)
  }
})

test.each([
  `ghp_${'c'.repeat(36)}`,
  `ghs_12345_eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxIn0.${'s'.repeat(64)}`,
  `github_pat_11AAAAAAA0${'c'.repeat(40)}`,
  `glpat-${'c'.repeat(20)}`,
  `eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxIn0.${'s'.repeat(64)}`,
  KEY.join('\n'),
  JSON.stringify(KEY.join('\n')).slice(1, -1),
])('%j is taken out though nobody told of it', (secret) => {
  expect(new Redactor().clean(`is (${secret}) there`)).toBe('is (***) there')
})

test('data is cleaned text by text, and stays what it is', () => {
  const redactor = new Redactor()
  redactor.add('a"b')

  const cleaned = redactor.cleanAll({ list: ['a"b', 1, null], below: { text: 'authorization: x\\' } })

  expect(cleaned).toEqual({ list: ['***', 1, null], below: { text: 'authorization: ***' } })
})

test('credentials that are renewed for ever do not pile up, and the newest are known', () => {
  const redactor = new Redactor()
  redactor.add('oldest-secret')

  for (let hour = 0; hour < 5_000; hour += 1) redactor.add(`secret-of-hour-${hour}`)

  expect(redactor.clean('secret-of-hour-4999')).toBe('***')
  expect(redactor.clean('oldest-secret')).toBe('oldest-secret')
})

test('what is registered twice is known as long as the newest', () => {
  const redactor = new Redactor()
  redactor.add('still-in-use')
  for (let index = 0; index < 600; index += 1) redactor.add(`secret-of-hour-${index}`)

  redactor.add('still-in-use')
  for (let index = 0; index < 600; index += 1) redactor.add(`secret-of-day-${index}`)

  expect(redactor.clean('still-in-use')).toBe('***')
})

test('whatever upstream says, a line is one line of at most 8 KiB that steers no terminal and hides no secret', () => {
  const texts = fc.string({ unit: 'binary', maxLength: 12_000, size: 'max' })
  const fields = fc.dictionary(fc.string({ unit: 'binary' }), fc.oneof(texts, fc.array(texts, { maxLength: 3 })), {
    maxKeys: 8,
  })
  const formats = fc.constantFrom('json' as const, 'text' as const)
  fc.assert(
    fc.property(texts, fields, formats, fc.boolean(), (event, fields, format, journal) => {
      const { log, lines } = logged({ format, journal })

      log.warn(event, { ...fields, message: `https://user:CANARY@host ${event}` })

      expect(lines).toHaveLength(1)
      expect(Buffer.byteLength(lines[0]!)).toBeLessThanOrEqual(8_192)
      expect(lines[0]).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]*\n$/u)
      expect(lines[0]).not.toContain('CANARY')
      expect(isJson(lines[0]!.slice(journal ? 3 : 0))).toBe(format === 'json')
    }),
    { numRuns: 50 },
  )
})

test('where there is no room for all, each text is cut, and the line stays JSON', () => {
  const { log, lines } = logged()

  log.info('event', { message: 'm'.repeat(100_000), other: 'ü'.repeat(100_000), source: 'team' })

  const { message, other, source } = JSON.parse(lines[0]!)
  expect([message.slice(0, 3), message.at(-1), other.at(-1), source]).toEqual(['mmm', '…', '…', 'team'])
})

test('where there is no room even so, the head is left', () => {
  const { log, lines } = logged()

  log.info('event', Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`field-${index}`, index])))

  expect(JSON.parse(lines[0]!)).toEqual({ time: '2026-06-15T12:00:00.000Z', level: 'info', event: 'event', cut: true })
})

test('a text that was made to be slow to clean takes no long time', () => {
  const redactor = new Redactor()
  const texts = [
    'a://',
    'a.',
    'authorization ',
    'authorization:"',
    '?key',
    'bearer ',
    'cookie=',
    '://a@',
    'eyJ',
    'eyJaaaaaaaa.',
    '-eyJaaaaaaaa.',
    'ghp_',
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN ',
  ]
  const before = process.cpuUsage()

  const cleaned = texts.map((text) => redactor.clean(text.repeat(100_000 / text.length)))

  expect(cleaned).toHaveLength(texts.length)
  expect(cpuSeconds(before)).toBeLessThan(2)
})

function logged(options: Partial<LogOptions> = {}): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = []
  const log = createLog({
    level: 'info',
    stream: { write: (line) => lines.push(line) },
    format: 'json',
    journal: false,
    clock: new FakeClock(),
    redactor: new Redactor(),
    ...options,
  })
  return { log, lines }
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}
