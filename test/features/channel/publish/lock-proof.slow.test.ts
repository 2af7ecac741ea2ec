import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { parseProof } from '../../../../src/sync/transparency-log/tlog-proof.ts'
import { followed, followedWhole, NAME } from './proved.ts'
import type { FollowedPair } from './proved.ts'

test('lock writes the proof of the locked entry beside the lock, and leaves a right one as it is', async () => {
  const pair = await followed()

  const locked = await pair.follower.command('lock')
  const text = await readFile(proofFile(pair), 'utf8')
  const again = await pair.follower.command('lock')

  expect(locked).toMatchObject({ status: 0, stdout: expect.stringContaining(`hub: wrote ${proofFile(pair)}\n`) })
  expect(parseProof(text)).toMatchObject({ index: 0, checkpoint: expect.stringContaining(`${NAME}\n1\n`) })
  expect(again.stdout).not.toContain('tlog-proof')
  expect(await readFile(proofFile(pair), 'utf8')).toBe(text)
})

test('update moves the proof with the lock, also of a source that must follow it', async () => {
  const pair = await followed({ keys: ['update: locked'] })
  await pair.follower.command('lock')
  await pair.publish('drafts/new')

  const updated = await pair.follower.command('update', '--json')
  const served = await pair.follower.command('list', '--json')

  expect(updated).toMatchObject({ status: 0 })
  expect(JSON.parse(updated.stdout).proofs).toEqual([{ source: 'hub', file: proofFile(pair), state: 'written' }])
  expect(parseProof(await readFile(proofFile(pair), 'utf8'))).toMatchObject({ index: 1 })
  expect(JSON.parse(served.stdout).skills.map(({ path }: { readonly path: string }) => path)).toContain('drafts/new')
})

test.each<[what: string, change: (pair: FollowedPair, text: string) => Promise<string>, why: string]>([
  ['is damaged', async (_, text) => text.replace('index 0', 'index 7'), 'it does not show that the entry is at 7'],
  ['is empty', async () => '', 'it has no checkpoint'],
  ['has no entry', async (_, text) => text.replace(/^extra .*\n/m, ''), 'it has no entry'],
  ['is of another entry', async (pair) => proofOfNext(pair), 'is locked'],
])('a proof that %s is refused if the lock must be followed', async (_, change, why) => {
  const pair = await followed()
  await pair.follower.command('lock')
  await writeFile(proofFile(pair), await change(pair, await readFile(proofFile(pair), 'utf8')))

  const frozen = await pair.follower.command('sync', '--frozen')
  const verified = await pair.follower.command('verify')
  const free = await pair.follower.command('sync')
  const repaired = await pair.follower.command('lock')
  const after = await pair.follower.command('sync', '--frozen')

  const refusal = expect.stringMatching(new RegExp(`skills\\.lock\\.hub\\.tlog-proof" is refused: .*${why}`))
  expect(frozen).toMatchObject({ status: 1, stderr: refusal })
  expect(verified).toMatchObject({ status: 3, stdout: refusal })
  // Nothing requires this lock, so the proof is evidence alone.
  expect(free).toMatchObject({ status: 0 })
  expect(repaired.stdout).toContain(`hub: wrote ${proofFile(pair)}`)
  expect(after).toMatchObject({ status: 0 })
})

test('a lock without a proof is followed', async () => {
  const pair = await followed({ keys: ['update: locked'] })
  await pair.follower.command('lock')
  await writeFile(proofFile(pair), 'wrong')
  const wrong = await pair.follower.command('sync')
  await rm(proofFile(pair))

  const without = await pair.follower.command('sync')

  expect(wrong).toMatchObject({ status: 1 })
  expect(wrong.stdout + wrong.stderr).toContain('lock-mismatch')
  expect(without).toMatchObject({ status: 0 })
})

test('the proof is removed with its source', async () => {
  const pair = await followed()
  await pair.follower.command('lock')
  const there = await readdir(dirname(proofFile(pair)))
  await pair.follower.configure({ own: [`path: ${join(pair.home.path, 'drafts')}`] })

  const locked = await pair.follower.command('lock', '--prune')

  expect(there).toContain('skills.lock.hub.tlog-proof')
  expect(locked.stdout).toContain(`hub: removed ${proofFile(pair)}\n`)
  expect(await readdir(dirname(proofFile(pair)))).not.toContain('skills.lock.hub.tlog-proof')
})

function proofFile({ follower }: FollowedPair): string {
  return join(dirname(follower.configFile), 'skills.lock.hub.tlog-proof')
}

/** The proof of the next entry, which the same key has signed. */
async function proofOfNext(pair: FollowedPair): Promise<string> {
  await pair.publish('drafts/next')
  const exported = await pair.home.command('hub', 'export', '--proof', pair.file)
  expect(exported).toMatchObject({ status: 0 })
  return JSON.parse(await readFile(pair.file, 'utf8')).proof
}

test('update locks no source that a followed hub has no more, and lock --prune removes its entry', async () => {
  const pair = await followedWhole()
  await pair.follower.command('lock')
  const config = await readFile(pair.home.configFile, 'utf8')
  await writeFile(pair.home.configFile, config.replace(/ {2}- id: more\n.*\n/, ''))
  await pair.home.command('sync')
  expect(await pair.home.command('hub', 'publish', '--to', pair.out)).toMatchObject({ status: 0 })

  const updated = await pair.follower.command('update')
  const kept = await pair.follower.command('list')
  const pruned = await pair.follower.command('lock', '--prune')
  await pair.follower.command('sync')
  const left = await pair.follower.command('list')

  expect(updated).toMatchObject({ status: 1, stdout: expect.stringContaining('the hub has it no more') })
  expect(kept.stdout).toContain('skill://more/extra')
  expect(pruned).toMatchObject({ status: 0 })
  expect(left.stdout).not.toContain('skill://more/extra')
  expect(left.stdout).toContain('skill://drafts/tidy')
})
