import { expect, test } from 'vitest'
import { NO_LINKS, withPut } from '../../../src/features/agent-folders/link-record.ts'
import type { LinkAdded } from '../../../src/features/agent-folders/link-record.ts'
import { sourceId } from '../../sync/store/samples.ts'

test('content that another process is about to place stays known as ours', () => {
  const first = withPut(NO_LINKS, putOf('1', '2')).links

  const { links } = withPut(first, putOf('1', '3'))

  expect(links.folders.get('/skills')?.entries.get('alpha')).toEqual({ targets: [], digests: ['1', '3', '2'] })
})

test('an entry keeps no more digests than its file can have', () => {
  let links = NO_LINKS
  for (let version = 1; version < 20; version += 1) ({ links } = withPut(links, putOf(`${version - 1}`, `${version}`)))

  const { digests = [] } = links.folders.get('/skills')?.entries.get('alpha') ?? {}

  expect(digests).toHaveLength(8)
  expect(digests.slice(0, 2)).toEqual(['18', '19'])
})

function putOf(...digests: readonly string[]): LinkAdded {
  const skill = { name: 'alpha', source: sourceId('team'), path: 'alpha', targets: [], digests }
  return { folder: '/skills', uses: [{ agent: 'agents' }], made: [], copies: true, skills: [skill] }
}
