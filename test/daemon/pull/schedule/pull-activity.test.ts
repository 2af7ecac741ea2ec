import { expect, test } from 'vitest'
import type { FetchedAmount } from '../../../../src/daemon/pull/schedule/pull-activity.ts'
import { PullActivity } from '../../../../src/daemon/pull/schedule/pull-activity.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { sourceId } from '../../../sync/store/samples.ts'

const TEAM = sourceId('team')

test('a listener hears the sum of what a pull has fetched, four times a second at most', async () => {
  const clock = new FakeClock()
  const activity = new PullActivity([], clock)
  const heard: FetchedAmount[] = []
  const watching = activity.watch(TEAM, (fetched) => heard.push(fetched))
  const fetch = (fetched: FetchedAmount): void => activity.fetched(TEAM, fetched)

  fetch({ files: 0, bytes: 10 })
  fetch({ files: 5, bytes: 0 })
  await clock.advance(250)
  fetch({ files: 1, bytes: 1 })
  activity.fetched(sourceId('other'), { files: 100, bytes: 100 })
  await clock.advance(250)
  watching[Symbol.dispose]()
  fetch({ files: 1, bytes: 1 })

  expect(heard).toEqual([
    { files: 0, bytes: 10 },
    { files: 6, bytes: 11 },
  ])
})

test('each pull begins with nothing fetched, and one listener leaves the others', () => {
  const activity = new PullActivity([], new FakeClock())
  const heard: FetchedAmount[] = []
  activity.watch(TEAM, () => {})[Symbol.dispose]()
  activity.watch(TEAM, (fetched) => heard.push(fetched))
  activity.fetched(TEAM, { files: 3, bytes: 3 })
  using _next = activity.begin(TEAM)
  activity.watch(TEAM, (fetched) => heard.push(fetched))

  activity.fetched(TEAM, { files: 1, bytes: 2 })

  expect(heard.at(-1)).toEqual({ files: 1, bytes: 2 })
})
