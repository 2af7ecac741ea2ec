import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, inject, test } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'
import { raisesIn } from './raises.ts'
import { TRIGGERS, UNTRIGGERED } from './triggers.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** To be lowered with each trigger that is written. */
const MOST_UNTRIGGERED = 35

const ids = (await raisesIn(join(ROOT, 'src'), '.ts')).map(({ id }) => id)

test('each place that raises one of the codes has a trigger, or the reason why it has none', () => {
  const rows = [...Object.values(TRIGGERS).flat(), ...Object.keys(UNTRIGGERED)]

  expect(ids.length).toBeGreaterThan(290)
  expect(rows.toSorted()).toEqual(ids.toSorted())
})

test('the list of raises without a trigger does not grow', () => {
  expect(Object.keys(UNTRIGGERED).length).toBeLessThanOrEqual(MOST_UNTRIGGERED)
})

test('the built program, of which the triggers are recorded, has the same places', () => {
  expect(inject('raises').map(({ id }) => id)).toEqual(ids)
})

test('each file of triggers is there, so that a run of all tests asks it for them', () => {
  expect(Object.keys(TRIGGERS).filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('a raise is found in each form: with the class, a subclass, a choice of codes, and by way of a function', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'room'))
  await writeFile(
    join(folder.path, 'room/a.ts'),
    `import { Gone } from './b.ts'
export function one(name: string) {
  if (name === '') throw new SyncError('store-failed', 'Cannot read it')
  throw new SyncError(name.length > 9 ? 'limit-exceeded' : 'lock-mismatch', \`Cannot read "\${name}"\`)
}
class Reader {
  #refuse() {
    throw new SyncError('store-failed', 'Cannot read it')
  }
  read = async () => {
    if (this.is) throw new Gone('x')
    throw new SyncError('lock-mismatch', 'Cannot read it')
  }
  open() {
    if (this.is) throw refusal('source-unreachable', 'it is closed')
    if (this.is) throw refusal('source-unreachable', 'it is away')
    throw refusal('log-forked', 'it is another one')
  }
  again(code) {
    throw new SyncError(this.error.code, 'Cannot read it')
  }
}
const refusal = (code: string, why: string) => new SyncError(code, \`Cannot read it: \${why}\`)
`,
  )
  await writeFile(
    join(folder.path, 'room/b.ts'),
    `export class Gone extends Lost {}
class Lost extends SyncError {
  constructor(name: string) {
    super('content-refused', name)
  }
}
`,
  )

  expect((await raisesIn(folder.path, '.ts')).map(({ id }) => id)).toEqual([
    'room/a one store-failed',
    'room/a one limit-exceeded',
    'room/a refuse store-failed',
    'room/a read content-refused',
    'room/a open source-unreachable',
    'room/a open source-unreachable 2',
    'room/a again given',
  ])
})
