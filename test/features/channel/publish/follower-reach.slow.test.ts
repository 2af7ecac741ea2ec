import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { FollowerReach } from '../../../../src/features/channel/publish/follower-reach.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

const [MOST_COUNTS, MOST_RECALLS] = [32_768, 1_024]

test('the counts that one principal reports of its followers are bounded, and the newest are kept', async () => {
  await using scene = await Scene.open()
  const { reach } = scene
  reach.report({ channel: undefined, principal: 'other' }, { follower: idOf(0, 32), size: 1, below: belowOf(1) })

  for (let index = 1; index <= 100; index += 1)
    reach.report(
      { channel: undefined, principal: 'one' },
      { follower: idOf(index, 32), size: 1, below: belowOf(MOST_RECALLS) },
    )

  const rows = reach.followersOf(idOf(0, 64))
  const counted = rows.filter(({ principal, below }) => principal === 'one' && below.obeyed > 0)
  expect(rows).toHaveLength(101)
  expect(counted).toHaveLength(MOST_COUNTS / MOST_RECALLS)
  expect(counted.map(({ follower }) => follower)).toContain(idOf(100, 32))
  expect(rows.find(({ principal }) => principal === 'other')?.below.obeyed).toBe(1)
  expect((await scene.stored()).length).toBeLessThan(2 ** 23)
})

test('a hub that begins and ends recalls without end is remembered for some of them', async () => {
  await using scene = await Scene.open()
  for (let round = 0; round < 200; round += 1)
    scene.reach.published(
      'docs',
      Array.from({ length: MOST_RECALLS }, (_, index) => idOf(round * MOST_RECALLS + index, 64)),
      round,
    )

  const { published } = JSON.parse(await scene.stored())
  expect(Object.keys(published).length).toBeLessThanOrEqual(65_536)
  expect(Object.keys(published)).toContain(`${idOf(200 * MOST_RECALLS - 1, 64)} docs`)
})

class Scene implements AsyncDisposable {
  readonly #opened: AsyncDisposableStack
  readonly #file: string
  readonly reach: FollowerReach

  private constructor(opened: AsyncDisposableStack, file: string, reach: FollowerReach) {
    this.#opened = opened
    this.#file = file
    this.reach = reach
  }

  static async open(): Promise<Scene> {
    const opened = new AsyncDisposableStack()
    const folder = opened.use(await temporaryFolder())
    const state = join(folder.path, 'state')
    const store = opened.use(await Store.open(state))
    const clock = new FakeClock()
    const stream = { write: () => {} }
    const log = createLog({ level: 'info', stream, format: 'json', journal: false, clock, redactor: new Redactor() })
    return new Scene(opened, join(state, 'logs', 'reach.rows'), new FollowerReach({ store, clock, log }))
  }

  /** The file as it is written at the end. */
  async stored(): Promise<string> {
    await this.reach[Symbol.asyncDispose]()
    return readFile(this.#file, 'utf8')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync()
  }
}

function belowOf(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    recall: idOf(index, 64),
    obeyed: 1,
    behind: 0,
    unreachable: 0,
  }))
}

function idOf(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}
