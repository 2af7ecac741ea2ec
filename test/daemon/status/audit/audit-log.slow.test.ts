import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, unlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/base/async/clock.ts'
import type { Clock } from '../../../../src/base/async/clock.ts'
import type { AuditConfig } from '../../../../src/daemon/config/sections/machine.ts'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { AUDIT_FILE, AuditFile, AuditFiles } from '../../../../src/daemon/status/audit/audit-files.ts'
import { AuditLog, auditLogOf } from '../../../../src/daemon/status/audit/audit-log.ts'
import type { AuditFolder } from '../../../../src/daemon/status/audit/audit-log.ts'
import type { Audit } from '../../../../src/serve/audit.ts'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { neededProgram } from '../../../support/process/has-program.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

const CHILD = fileURLToPath(new URL('audit-child.mjs', import.meta.url))
const EVENT = { asked: 'skills/list', generation: 1, allowed: true }

test('whatever is written, the files are bounded in number and size, and hold the youngest lines in order', async () => {
  const lengths = fc.array(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 }), {
    maxLength: 12,
  })

  await fc.assert(
    fc.asyncProperty(
      lengths,
      fc.integer({ min: 1, max: 700 }),
      fc.integer({ min: 1, max: 4 }),
      async (batches, bytes, files) => {
        await using folder = await temporaryFolder()
        const audit = new AuditFiles(join(folder.path, 'audit'), { bytes, files }, Date.now)
        const written: string[] = []

        for (const batch of batches) {
          const lines = batch.map((length) => `${written.length} ${'x'.repeat(length)}\n`)
          written.push(...lines)
          await audit.append(lines)
          expect(lines).toEqual([])
        }

        const kept = await filesIn(join(folder.path, 'audit'))
        expect(kept.length).toBeLessThanOrEqual(files)
        // A line that is longer than a file may be has one of its own.
        for (const text of kept) expect(text.length <= bytes || text.indexOf('\n') === text.length - 1).toBe(true)
        expect(written.join('').endsWith(kept.join(''))).toBe(true)
        expect(kept.join('') === '' && written.length > 0).toBe(false)
      },
    ),
    { numRuns: 50 },
  )
})

test('a dozen processes at once lose no line to each other and mix none, over many files', async () => {
  await using folder = await temporaryFolder()
  const [processes, count] = [12, 300]

  const ends = writtenBy(processes, [folder.path, '20000', '1000'], count)

  expect(await ends).toEqual(Array.from({ length: processes }, () => 0))
  const kept = await filesIn(folder.path)
  const lines = linesIn(kept)
  for (let who = 0; who < processes; who += 1) {
    const own = lines.filter((line) => line.who === String(who)).map(({ number }) => number)
    expect(own).toEqual(Array.from({ length: count }, (_, number) => number))
  }
  expect(kept.length).toBeGreaterThan(10)
  // Some more than the limit goes in while another process turns the file over, and no more than twice and a line of each.
  for (const text of kept) expect(text.length).toBeLessThanOrEqual(40_000 + processes * 300)
  expect((await readdir(folder.path)).every((name) => name.endsWith('.jsonl'))).toBe(true)
})

test('no line is lost either where the lock is taken away from processes again and again', async () => {
  await using folder = await temporaryFolder()
  const [processes, count] = [3, 150]

  const written = writtenBy(processes, [folder.path, '900', '5000'], count)
  const over = new AbortController()
  void written.then(() => over.abort())
  while (!over.signal.aborted) await unlink(join(folder.path, 'rotating')).catch(() => {})

  expect(await written).toEqual([0, 0, 0])
  const lines = linesIn(await filesIn(folder.path))
  const names = lines.map(({ who, number }) => `${who} ${number}`)
  expect(new Set(names).size).toBe(processes * count)
  expect(names).toHaveLength(processes * count)
})

test('however many write at one moment, a file has twice its size and a line of each of them at most', async () => {
  await using folder = await temporaryFolder()
  const [writers, bytes, length] = [8, 8192, 100]
  const lines = (who: number): string[] =>
    Array.from({ length: 300 }, (_, number) => `${`${who} ${number}`.padEnd(length - 1)}\n`)

  const written = Array.from({ length: writers }, async (_, who) => {
    const own = lines(who)
    await new AuditFiles(folder.path, { bytes, files: 1000 }, Date.now).append(own)
    return own
  })
  const left = (await Promise.all(written)).flat()

  const kept = await filesIn(folder.path)
  expect(Math.max(...kept.map((text) => text.length))).toBeLessThanOrEqual(2 * bytes + writers * length)
  const found = kept.join('').split('\n').length - 1
  expect(found + left.length).toBe(writers * 300)
})

test('many processes that come and go keep within the bounds', async () => {
  await using folder = await temporaryFolder()

  for (let round = 0; round < 3; round += 1) {
    const ends = Array.from({ length: 6 }, async (_, who) => {
      const child = spawn(process.execPath, [CHILD, folder.path, '5000', '3', `${round}-${who}`, '100'], {
        stdio: 'inherit',
      })
      return (await once(child, 'close'))[0]
    })
    expect(await Promise.all(ends)).toEqual([0, 0, 0, 0, 0, 0])
  }

  const names = await readdir(folder.path)
  expect(names.filter((name) => name.endsWith('.jsonl')).length).toBeLessThanOrEqual(3)
})

test('a process goes on with the file that another left, also after half a line', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, AUDIT_FILE), '{"whole":1}\n{"ha')

  await new AuditFiles(folder.path, { bytes: 1000, files: 2 }, Date.now).append(['{"next":2}\n'])

  expect(await readFile(join(folder.path, AUDIT_FILE), 'utf8')).toBe('{"whole":1}\n{"ha\n{"next":2}\n')
})

test('the turn of a process that was killed is taken away, and until then the file stays below twice its size', async () => {
  await using folder = await temporaryFolder()
  const audit = new AuditFiles(folder.path, { bytes: 100, files: 3 }, Date.now)
  const lock = join(folder.path, 'rotating')
  await writeFile(lock, '')
  const lines = Array.from({ length: 50 }, (_, number) => `${String(number).padEnd(9)}\n`)

  await audit.append(lines)
  const held = (await stat(join(folder.path, AUDIT_FILE))).size
  const left = lines.length
  await utimes(lock, new Date(0), new Date(0))
  await audit.append(lines)

  expect([held, left]).toEqual([200, 30])
  expect(lines).toEqual([])
  expect((await readdir(folder.path)).toSorted()).toEqual([
    expect.stringMatching(/^audit-/),
    expect.stringMatching(/^audit-/),
    AUDIT_FILE,
  ])
})

test.each([1, 9])(
  'what is written to a file that was turned over meanwhile (of %j) is written again',
  async (files) => {
    await using folder = await temporaryFolder()
    const audit = new AuditFiles(folder.path, { bytes: 10, files }, Date.now)
    await using stale = await AuditFile.open(join(folder.path, AUDIT_FILE))
    for (const number of [1, 2, 3]) await audit.append([`${number}`.padEnd(9) + '\n'])
    const lines = ['late\n']

    await stale.write(lines, { limit: 10, atOnce: 10 })
    expect(lines).toEqual(['late\n'])
    await audit.append(lines)

    expect((await filesIn(folder.path)).at(-1)).toBe('late\n')
  },
)

test('a file that somebody gave the last of all numbers is no reason to lose others, or to keep too many', async () => {
  await using folder = await temporaryFolder()
  const named = async (name: string): Promise<void> => writeFile(join(folder.path, `audit-${name}.jsonl`), `${name}\n`)
  for (const name of ['7', '999999999999999', '007', '9999999999999999', 'x']) await named(name)
  const audit = new AuditFiles(folder.path, { bytes: 10, files: 5 }, Date.now)

  for (let number = 10; number < 15; number += 1) await audit.append([`${number}`.padEnd(9) + '\n'])

  const own = (await readdir(folder.path)).filter((name) => /^audit-[1-9]\d{0,14}\.jsonl$/.test(name))
  expect(own.toSorted()).toEqual(['audit-3.jsonl', 'audit-4.jsonl', 'audit-5.jsonl', 'audit-6.jsonl'])
  const texts = await Promise.all(own.toSorted().map(async (name) => readFile(join(folder.path, name), 'utf8')))
  expect(texts.map((text) => text.trim())).toEqual(['10', '11', '12', '13'])
  // Nobody here gave them their names.
  expect((await readdir(folder.path)).length - own.length).toBe(4)
})

test('a disk that takes a part of a line has refused it', async () => {
  await using folder = await temporaryFolder()
  const limited = `trap '' XFSZ; ulimit -f 4; exec "$@"`
  const child = spawn(neededProgram('bash'), [
    '-c',
    limited,
    '-',
    process.execPath,
    CHILD,
    folder.path,
    '100000',
    '2',
    'ada',
    '400',
  ])
  let told = ''
  child.stderr.on('data', (chunk) => (told += chunk))
  await once(child, 'close')

  expect(told).toContain("code: 'store-failed'")
  const [text = ''] = await filesIn(folder.path)
  expect([text.length, text.endsWith('\n')]).toEqual([4096, false])
})

test('a fault of ours is none of the disk', async () => {
  const append = async (): Promise<void> => {
    throw Object.assign(new Error('a fault'), { code: 'ENOSPC' })
  }
  const audit = new AuditLog(everyFile({ append }), { via: 'http' }, logOf(systemClock).log, systemClock)

  audit.record(EVENT)

  await expect(audit[Symbol.asyncDispose]()).rejects.toThrow('a fault')
})

test('a link in the place of the file is not followed', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'other'), 'other')
  await mkdir(join(folder.path, 'audit'))
  await symlink('../other', join(folder.path, 'audit', AUDIT_FILE))

  await expect(
    new AuditFiles(join(folder.path, 'audit'), { bytes: 9, files: 1 }, Date.now).append(['x\n']),
  ).rejects.toThrow('ELOOP')

  expect(await readFile(join(folder.path, 'other'), 'utf8')).toBe('other')
})

test('events are written within a second, with their time, and the rest at the end', async () => {
  await using folder = await temporaryFolder()
  const clock = new FakeClock()
  const { log } = logOf(clock)
  const audit = new AuditLog(
    everyFile(new AuditFiles(folder.path, { bytes: 10_000, files: 2 }, Date.now)),
    { via: 'http' },
    log,
    clock,
  )

  audit.record(EVENT)
  await clock.advance(1_000)
  await expect.poll(async () => filesIn(folder.path)).toHaveLength(1)
  audit.record({ ...EVENT, of: 'a\nb\u0000' })
  await audit[Symbol.asyncDispose]()

  const lines = (await filesIn(folder.path))
    .join('')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toMatchObject([
    { at: expect.stringMatching(/^\d{4}-/), via: 'http', ...EVENT },
    { ...EVENT, of: 'a\nb\u0000' },
  ])
})

test('a disk that refuses is told of once, what it refused comes later, and what there was no room for is counted', async () => {
  const clock = new FakeClock()
  const { log, logged } = logOf(clock)
  const disk: { isFull: boolean; lines: string[] } = { isFull: true, lines: [] }
  const files = {
    append: async (lines: string[]): Promise<void> => {
      if (disk.isFull) throw new SyncError('store-failed', 'Cannot write the audit log: ENOSPC')
      disk.lines.push(...lines.splice(0))
    },
  }
  const audit = new AuditLog(everyFile(files), { via: 'stdio', user: 'ada', pid: 7 }, log, clock)
  const large = { ...EVENT, of: 'x'.repeat(2 ** 20) }

  for (let times = 0; times < 6; times += 1) audit.record(large)
  for (let times = 0; times < 3; times += 1) await clock.advance(500)
  disk.isFull = false
  await audit[Symbol.asyncDispose]()

  expect(logged().match(/audit-not-written/g)).toHaveLength(2)
  expect(logged()).toContain('"event":"recovered"')
  expect(disk.lines).toHaveLength(4)
  expect(JSON.parse(disk.lines.at(-1) ?? '')).toMatchObject({ asked: 'audit/lost', lost: 3, user: 'ada', pid: 7 })
})

test('a folder that cannot be written disturbs nobody', async () => {
  await using folder = await temporaryFolder()
  const { log, logged } = logOf(systemClock)
  await writeFile(join(folder.path, 'audit'), 'in the way')
  const audit = new AuditLog(
    everyFile(new AuditFiles(join(folder.path, 'audit'), { bytes: 1000, files: 2 }, Date.now)),
    { via: 'http' },
    log,
    systemClock,
  )

  audit.record(EVENT)
  await audit[Symbol.asyncDispose]()

  expect(logged()).toContain('audit-not-written')
  await chmod(folder.path, 0o700)
  await rm(join(folder.path, 'audit'))
})

test('a refusal outlives more reads than the files hold, and a flood of refusals of another client', async () => {
  await using folder = await temporaryFolder()
  const record = recordIn(folder.path, { bytes: 32_000, files: 3 })
  const why = 'The token does not open "page"'

  await record((audit) => audit({ ...EVENT, ...REFUSED, why, principal: 'ada' }))
  await record((audit) => {
    for (let times = 0; times < 1_000; times += 1) audit({ ...EVENT, principal: 'ada' })
  })
  await record((audit) => {
    for (let times = 0; times < 3_000; times += 1) audit({ ...EVENT, ...REFUSED, of: `${times}`, principal: 'eve' })
  })
  await record((audit) => {
    for (let times = 0; times < 1_000; times += 1)
      audit({ ...EVENT, ...REFUSED, of: `${times}`, address: `192.0.2.${times % 250}` })
  })

  const lines = await eventsIn(folder.path)
  expect(lines.filter(({ principal, allowed }) => principal === 'ada' && allowed === false)).toMatchObject([{ why }])
  // None of those of the other is uncounted.
  const others = lines.filter(({ principal }) => principal === 'eve')
  expect(others.reduce((sum, { others: more = 0 }) => sum + 1 + Number(more), 0)).toBe(3_000)
  expect(others.length).toBeLessThan(100)
  const sizes = (await filesIn(join(folder.path, 'audit'))).map((text) => text.length)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(96_000)
})

test('the same refusal of one client within a minute is one line and one that counts the rest', async () => {
  await using folder = await temporaryFolder()
  const clock = new FakeClock()
  const audit = auditIn(folder.path, { bytes: 100_000, files: 2 }, clock)
  const denied = { ...EVENT, ...REFUSED, why: 'The token is not valid', address: '192.0.2.1' }

  for (let times = 0; times < 50; times += 1) audit.record(denied)
  for (let second = 0; second < 70; second += 1) await clock.advance(1_000)
  audit.record({ ...denied, address: '192.0.2.2' })
  audit.record(denied)
  await audit[Symbol.asyncDispose]()

  const lines = await eventsIn(folder.path)
  expect(lines.map(({ address, repeated }) => [address, repeated])).toEqual([
    ['192.0.2.1', undefined],
    ['192.0.2.1', 49],
    ['192.0.2.2', undefined],
    ['192.0.2.1', undefined],
  ])
})

test('logins and refusals of known clients, refusals of unknown ones and reads have files of their own', async () => {
  await using folder = await temporaryFolder()
  const record = recordIn(folder.path, { bytes: 10_000, files: 2 })

  await record((audit) => {
    audit({ ...EVENT, principal: 'ada' })
    audit({ ...EVENT, ...REFUSED, principal: 'ada' })
    audit({ ...EVENT, asked: 'POST /login', principal: 'ada' })
    audit({ ...EVENT, ...REFUSED, address: '192.0.2.1' })
  })

  const asked = async (name: string): Promise<unknown[]> =>
    linesOf(await readFile(join(folder.path, 'audit', name), 'utf8')).map((line) => [line['asked'], line['allowed']])
  expect(await asked('audit.jsonl')).toEqual([['skills/list', true]])
  expect(await asked('decisions.jsonl')).toEqual([
    ['skills/list', false],
    ['POST /login', true],
  ])
  expect(await asked('strangers.jsonl')).toEqual([['skills/list', false]])
})

/** One place for the lines of each kind. */
function everyFile(files: AuditFolder['audit']): AuditFolder {
  return { audit: files, decisions: files, strangers: files }
}

const REFUSED = { allowed: false, why: 'not here' }

function auditIn(state: string, audit: AuditConfig, clock: Clock): AuditLog {
  const log = auditLogOf({ state, audit }, 'http', logOf(clock).log, clock)
  if (log === undefined) throw new Error('The audit log is on')
  return log
}

/** Each call is a process that starts, records and ends. */
function recordIn(state: string, audit: AuditConfig): (what: (audit: Audit) => void) => Promise<void> {
  return async (what) => {
    await using log = auditIn(state, audit, systemClock)
    what(log.record)
  }
}

async function eventsIn(state: string): Promise<Record<string, unknown>[]> {
  return linesOf((await filesIn(join(state, 'audit'))).join(''))
}

function linesOf(text: string): Record<string, unknown>[] {
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
}

function logOf(clock: Clock) {
  let text = ''
  const stream = { write: (more: string) => (text += more) }
  const log = createLog({ level: 'info', stream, format: 'json', journal: false, clock, redactor: new Redactor() })
  return { log, logged: () => text }
}

/** The texts of the files, oldest first. */
async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  const number = (name: string): number => Number(/\d+/.exec(name)?.[0] ?? Number.MAX_SAFE_INTEGER)
  const inOrder = names.filter((name) => name.endsWith('.jsonl')).toSorted((a, b) => number(a) - number(b))
  return Promise.all(inOrder.map((name) => readFile(join(folder, name), 'utf8')))
}

/** Has so many processes write so many lines each at once; resolves with how they ended. `log` is the folder and its limits. */
async function writtenBy(processes: number, log: readonly string[], count: number): Promise<unknown[]> {
  const ends = Array.from({ length: processes }, async (_, who) => {
    const child = spawn(process.execPath, [CHILD, ...log, `${who}`, `${count}`], { stdio: 'inherit' })
    return (await once(child, 'close'))[0]
  })
  return Promise.all(ends)
}

function linesIn(files: readonly string[]): { readonly who: string; readonly number: number }[] {
  return files
    .join('')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}
