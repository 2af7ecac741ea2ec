import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createProgress } from '../../../src/daemon/runtime/progress.ts'
import { World } from '../../e2e/world.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const CLEAR = '\r\u001B[2K'

test('progress on a terminal is one line written anew, gone in the end', () => {
  const { stream, written } = terminal(20)

  {
    using progress = createProgress({ stream, quiet: false, clock: new FakeClock() })
    progress.show('one')
    progress.show('one')
    progress.show(`\u001B[31m${'x'.repeat(40)}`)
  }

  expect(written).toEqual([`${CLEAR}one`, `${CLEAR}\\u{1b}[31mxxxxxxxx…`, CLEAR])
})

test('parts of a piece of work are a bar on a terminal, full when all are done, and counted elsewhere', () => {
  const { stream, written } = terminal(60)
  const file = terminal()

  {
    using progress = createProgress({ stream, quiet: false, clock: new FakeClock() })
    using lines = createProgress({ stream: file.stream, quiet: false, clock: new FakeClock() })
    for (const done of [0, 1, 3]) progress.count(done, 3, `${done} of 3`)
    for (const done of [0, 1, 3]) lines.count(done, 3, `${done} of 3`)
  }

  expect(written).toEqual([
    `${CLEAR}[....................] 0 of 3`,
    `${CLEAR}[######..............] 1 of 3`,
    `${CLEAR}[####################] 3 of 3`,
    CLEAR,
  ])
  expect(file.written).toEqual(['0 of 3\n', '1 of 3\n', '3 of 3\n'])
})

test('a line on a terminal that does not change says for how long, and nothing once it is gone', async () => {
  const { stream, written } = terminal(60)
  const clock = new FakeClock()
  {
    using progress = createProgress({ stream, quiet: false, clock })
    progress.show('pulling team')
    await clock.advance(2000)
    expect(written).toEqual([`${CLEAR}pulling team`])

    for (let second = 3; second <= 5; second += 1) await clock.advance(1000)
    progress.show('1 of 1')
    await clock.advance(1000)
  }
  await clock.advance(10_000)

  const told = [3, 4, 5].map((seconds) => `${CLEAR}pulling team, for ${seconds} s`)
  expect(written).toEqual([`${CLEAR}pulling team`, ...told, `${CLEAR}1 of 1`, CLEAR])
  expect(clock.waiting).toBe(0)
})

test('progress elsewhere is a line for each text that is new, and with quiet nothing', () => {
  const { stream, written } = terminal()
  const quiet = terminal(20)

  {
    using progress = createProgress({ stream, quiet: false, clock: new FakeClock() })
    using silent = createProgress({ stream: quiet.stream, quiet: true, clock: new FakeClock() })
    for (const text of ['one', 'one', '', 'two']) progress.show(text)
    silent.show('one')
    silent.count(1, 2, 'two')
  }

  expect(written).toEqual(['one\n', 'two\n'])
  expect(quiet.written).toEqual([])
})

test('a text that changes often is shown on a terminal alone', () => {
  const { stream, written } = terminal(60)
  const file = terminal()

  {
    using progress = createProgress({ stream, quiet: false, clock: new FakeClock() })
    using lines = createProgress({ stream: file.stream, quiet: false, clock: new FakeClock() })
    progress.countOften(0, 1, '3 files')
    lines.countOften(0, 1, '3 files')
  }

  expect(written).toEqual([`${CLEAR}[....................] 3 files`, CLEAR])
  expect(file.written).toEqual([])
})

test('a pull shows how much of its source has come', async () => {
  await using world = await World.create()
  await world.repository.commit({ 'alpha/large.bin': randomBytes(2 ** 19) })

  const end = await world.home.typing([], 'sync')

  expect(end.stderr).toMatch(/\] fetching team, 0\.\d MiB received/)
})

describe.each([
  ['sync', ['[....................] pulling team', '[####################] 1 of 1 source: team updated']],
  ['lock', ['[....................] 0 of 1 source checked', '[####################] 1 of 1 source checked: team']],
  ['update', ['1 of 1 source checked: team', '[....................] 0 of 1 source pulled', 'pulled: team']],
])('%s', (command, shown) => {
  test('counts its sources, with a bar on a terminal', async () => {
    await using world = await World.create()

    const end = await world.home.typing([], command)

    expect(end.status).toBe(0)
    for (const text of shown) expect(end.stderr).toContain(text)
    expect(end.stderr.endsWith(CLEAR)).toBe(true)
    expect(end.stdout).not.toContain('[#')
  })

  test('is silent about it with --json and with --quiet', async () => {
    await using world = await World.create()

    const ends = [await world.home.typing([], command, '--json'), await world.home.typing([], command, '--quiet')]

    for (const end of ends) expect(end).toMatchObject({ status: 0, stderr: '' })
  })
})

function terminal(columns?: number) {
  const written: string[] = []
  const stream = {
    write: (text: string) => written.push(text),
    ...(columns === undefined ? {} : { isTTY: true, columns }),
  }
  return { stream, written }
}
