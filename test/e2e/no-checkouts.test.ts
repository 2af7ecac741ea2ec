import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { legacyHttp, modernHttp, type Peer } from '../support/clients/peer.ts'
import { World, skill } from './world.ts'

const MORE = 40

test('a daemon that serves HTTP alone makes no checkout, and no more files for more skills and versions', async () => {
  await using world = await World.create()
  const url = await world.home.start('start').line()
  await world.synced()
  await using legacy = await legacyHttp(url)
  await using modern = await modernHttp(url)
  const first = [await textsOf(legacy), await textsOf(modern)]
  const files = await namesIn(world)
  const more = { 'alpha/SKILL.md': skill('alpha', 'second'), ...many() }
  await world.repository.commit(more)

  await world.synced()

  const second = [await textsOf(legacy), await textsOf(modern)]
  const alpha = { 'skill://team/alpha/SKILL.md': skill('alpha', 'first') }
  expect(first).toEqual([alpha, alpha])
  const all = Object.fromEntries(Object.entries(more).map(([path, text]) => [`skill://team/${path}`, text]))
  expect(second).toEqual([all, all])
  expect(await readdir(join(world.home.state, 'checkouts'))).toEqual([])
  expect(await namesIn(world)).toEqual(files)
})

function many(): Record<string, string> {
  const names = Array.from({ length: MORE }, (_, index) => `skill-${index}`)
  return Object.fromEntries(
    names.flatMap((name) => [
      [`${name}/SKILL.md`, skill(name, 'one of many')],
      [`${name}/scripts/run.sh`, `echo ${name}\n`],
    ]),
  )
}

/** Every file of every skill that is listed, as a client reads it, by its URI. */
async function textsOf(peer: Peer): Promise<Record<string, string>> {
  const texts: Record<string, string> = {}
  const { result } = await peer.call('skills/list')
  for (const { resources } of result.skills)
    for (const { uri } of resources) texts[uri] = (await peer.call('resources/read', { uri })).result.contents[0].text
  return texts
}

/** The entries of the state folder, but for the audit log and the counts of use, which are written some time after a read. */
async function namesIn({ home }: World): Promise<readonly string[]> {
  const names = await readdir(home.state, { recursive: true })
  return names.filter((name) => !/^(?:audit|usage)(?:\/|$)/.test(name)).toSorted()
}
