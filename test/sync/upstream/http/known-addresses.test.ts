import { expect, test } from 'vitest'
import { PLAIN_WAY } from '../../../../src/sync/upstream/http/host-access.ts'
import { reach, STEADY } from '../reached.ts'
import { serve } from '../served.ts'

test('a host whose addresses are known is connected to by them, and its name is not looked up', async () => {
  await using served = await serve()
  const host = 'team.skills.invalid'
  const url = served.url.replace('127.0.0.1', host)
  const known = { host, addresses: [{ address: '127.0.0.1', family: 4 }] }
  await using reached = await reach(url, { route: { ...PLAIN_WAY.route, known } })

  await using tree = await reached.tree()

  expect(tree.list(tree.root).map(({ name }) => name)).toEqual(['a', 'd.md'])
})

test('addresses that are known of a host are not taken for those of another', async () => {
  await using served = await serve()
  const known = { host: 'other.skills.invalid', addresses: [{ address: '127.0.0.1', family: 4 }] }
  const url = served.url.replace('127.0.0.1', 'team.skills.invalid')
  await using reached = await reach(url, { route: { ...PLAIN_WAY.route, known } })

  await expect(reached.upstream.resolve(STEADY)).rejects.toMatchObject({ code: 'dns-failed' })
})
