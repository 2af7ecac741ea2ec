import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'
import { Desk, skills } from './desk.ts'

/** A gate of a few lines of shell; `$CANDIDATE` is the document it is asked about. */
async function gated(script: string, onFailure?: string) {
  const folder = await temporaryFolder()
  const command = join(folder.path, 'gate.sh')
  await writeFile(command, `#!/bin/sh\nCANDIDATE=$(cat)\n${script}\n`)
  await chmod(command, 0o755)
  const more = onFailure === undefined ? '' : `, on_failure: ${onFailure}`
  const desk = await Desk.open([], `gate: { command: ${command}${more} }`)
  return {
    desk,
    [Symbol.asyncDispose]: async () => {
      await desk[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const REFUSES_BAD = 'case "$CANDIDATE" in *\'"bad"\'*) echo "bad is not wanted"; exit 1;; esac'

test('what a gate refuses is not served, and what was served is served on', async () => {
  await using scene = await gated(REFUSES_BAD)
  const { desk } = scene
  await desk.repository.commit(skills('good'))
  await desk.start()
  const first = await desk.sync()
  await desk.repository.commit(skills('bad'))

  const refused = await desk.sync()

  expect(first.kind).toBe('updated')
  expect(refused).toMatchObject({ kind: 'failed', error: { code: 'content-refused' } })
  expect(desk.status().condition?.message).toContain('the gate refuses it: bad is not wanted')
  expect(desk.names()).toEqual(['good'])
})

test('what a gate holds waits for a person, who is not asked again', async () => {
  await using scene = await gated('echo "look at it"; exit 3')
  const { desk } = scene
  const commit = await desk.repository.commit(skills('new'))
  await desk.start()

  const held = await desk.sync()
  const again = await desk.sync()
  await desk.decide('approve', commit)
  const taken = await desk.sync()

  expect([held, again]).toMatchObject([
    { kind: 'held', reason: { code: 'awaiting-approval' } },
    { kind: 'held', reason: { code: 'awaiting-approval' } },
  ])
  expect(taken.kind).toBe('updated')
  expect(desk.names()).toEqual(['new'])
})

test.each([
  [undefined, 'failed', []],
  ['publish', 'updated', ['new']],
])('a gate that is killed, with on_failure %s, ends the pull %s', async (onFailure, kind, names) => {
  await using scene = await gated('kill -9 $$', onFailure)
  const { desk } = scene
  await desk.repository.commit(skills('new'))
  await desk.start()

  const outcome = await desk.sync()

  expect(outcome.kind).toBe(kind)
  expect(desk.names()).toEqual(names)
})
