import { expect, test } from 'vitest'
import { alarmsOf } from '../../../../src/daemon/status/page/hub-alarms.ts'
import type { SourceStatus, Status } from '../../../../src/daemon/status/status.ts'
import { sourceId } from '../../../sync/store/samples.ts'

const REWRITTEN = {
  url: 'https://git.example.com/config.git',
  path: 'skills.lock',
  condition: {
    code: 'history-rewritten' as const,
    message: 'it was rewritten',
    mend: 'restore the branch',
    since: '2026-06-15T12:00:00.000Z',
  },
}

const WELL: Status = {
  version: '1',
  state: '/state',
  generation: 1,
  skills: 1,
  sources: [],
  collisions: { count: 0, names: [] },
  problems: [],
  servedLost: [],
  notices: [],
  http: {
    url: 'http://127.0.0.1',
    sessions: 0,
    streams: 0,
    subscribedUris: 0,
    unready: [],
    tokens: { required: true, count: 1 },
  },
}

test('a hub that is well has no alarm', () => {
  expect(alarmsOf(WELL, String)).toEqual([])
})

test.each<[string, Partial<Status>, string, string]>([
  ['decisions-lost', { decisionsLost: 'They are gone' }, 'They are gone', 'Decide again'],
  [
    'read-only',
    { readOnly: { code: 'store-failed', message: 'The disk is full', mend: 'Make room' } },
    'The disk is full',
    'Make room; skillsyncd explain store-failed',
  ],
  [
    'served-lost',
    { servedLost: [{ source: sourceId('team'), message: 'It is lost' }] },
    'It is lost',
    'skillsyncd sync team',
  ],
  [
    'lock-unreadable',
    { lock: { file: '/l', use: 'follow', isThere: true, error: 'Cannot read it', followed: 0 } },
    'Cannot read it',
    'skillsyncd explain lock-unreadable',
  ],
  [
    'lock-not-taken',
    { lock: { file: '/l', use: 'follow', isThere: true, followed: 1, from: REWRITTEN } },
    'it was rewritten',
    'restore the branch; skillsyncd explain lock-not-taken',
  ],
  [
    'not-ready',
    { http: unready({ source: 'team', why: 'too-old', age: 7_200, limit: 3_600 }) },
    'team is required',
    '/readyz',
  ],
  ['not-ready', { http: unready({ why: 'nothing-served' }) }, 'elsewhere: nothing is served', '/readyz'],
  ['tokens-unreadable', { http: { ...unready(), tokens: { required: true } } }, 'no token is accepted', 'token list'],
  ['source-moved', { sources: [movedTo('https://new')] }, 'redirects to https://new', '`url`'],
  [
    'lock-followed',
    { notices: [{ change: 'lock-followed', message: 'It is followed now' }] },
    'followed now',
    'CHANGELOG',
  ],
])('%s is an alarm with what mends it', (code, now, message, mend) => {
  expect(alarmsOf({ ...WELL, ...now }, String)).toEqual([
    expect.objectContaining({ code, message: expect.stringContaining(message), mend: expect.stringContaining(mend) }),
  ])
})

test('what could steer a terminal or a reader is shown in a message', () => {
  const [alarm] = alarmsOf({ ...WELL, decisionsLost: 'gone \u001B[31m \u202E' }, String)

  for (const hidden of ['\u001B', '\u202E']) expect(alarm?.message).not.toContain(hidden)
})

function unready(...reasons: NonNullable<Status['http']>['unready'][number][]): NonNullable<Status['http']> {
  return { ...WELL.http!, unready: reasons }
}

function movedTo(address: string): SourceStatus {
  return {
    id: sourceId('team'),
    kind: 'git',
    url: 'https://old',
    movedTo: address,
    ref: undefined,
    update: 'auto',
    lock: { state: 'missing' },
    decision: {},
    disabled: { count: 0, paths: [], matching: 0, matches: [] },
    pending: { count: 0, paths: [] },
    unservedContracts: 0,
    served: undefined,
    upstream: undefined,
    lastAttempt: undefined,
    lastSuccess: undefined,
    nextPoll: undefined,
    lookingSince: undefined,
    condition: undefined,
    mismatched: { count: 0, paths: [] },
    tally: { seen: 0, clean: 0, noted: 0, tools: 0, withheld: 0, links: 0, disabled: 0, pending: 0 },
    findings: [],
  }
}
