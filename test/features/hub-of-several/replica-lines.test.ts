import { expect, test } from 'vitest'
import type { ReplicaRow, ReplicasStatus } from '../../../src/daemon/runtime/hub-replica.ts'
import { replicaLines } from '../../../src/features/hub-of-several/replica-lines.ts'

const NOW = new Date('2026-11-28T12:00:00.000Z')
const BEFORE = '2026-11-28T10:00:00.000Z'

test('living processes have a line each, with the one that leads, how far each is behind, and other configurations', () => {
  const lines = linesOf({
    id: 'aaaaaaaa-1',
    leads: false,
    leader: { id: 'bbbbbbbb-1', since: BEFORE },
    processes: [rowOf('aaaaaaaa-1', { generation: 7 }), rowOf('bbbbbbbb-1', { generation: 9, hasOtherConfig: true })],
  })

  expect(lines).toEqual([
    'process aaaaaaaa on one (this one): follows; generation 7, 2 behind',
    'process bbbbbbbb on one: leads since 2 h ago; generation 9, different configuration',
  ])
})

test('those that were killed are one line', () => {
  const dead = ['c', 'd', 'e'].map((letter, minutes) =>
    rowOf(letter.repeat(8), { isLiving: false, seenAt: `2026-11-28T11:5${minutes}:00.000Z` }),
  )

  expect(linesOf({ id: 'aaaaaaaa', leads: true, processes: [rowOf('aaaaaaaa', {}), ...dead] })).toEqual([
    'process aaaaaaaa on one (this one): follows; generation 9',
    '3 processes have gone within the last hour without a stop; the last one is eeeeeeee on one, seen 8 min ago',
  ])
})

test('without the database, the lines are of the last time', () => {
  const away = { code: 'store-failed', message: 'no route', since: BEFORE } as const

  expect(linesOf({ id: 'a', leads: false, away, processes: [rowOf('a', { seenAt: BEFORE })] })).toEqual([
    'process a on one (this one): follows; generation 9, last seen 2 h ago',
  ])
})

test('a hub of one process has none', () => {
  expect(replicaLines({}, NOW)).toEqual([])
})

function linesOf(status: ReplicasStatus): readonly string[] {
  return replicaLines({ replicas: status }, NOW)
}

function rowOf(id: string, edit: Partial<ReplicaRow>): ReplicaRow {
  const [startedAt, seenAt] = [BEFORE, NOW.toISOString()]
  return {
    id,
    machine: 'one',
    version: '0.1.0',
    startedAt,
    seenAt,
    generation: 9,
    isLiving: true,
    hasOtherConfig: false,
    ...edit,
  }
}
