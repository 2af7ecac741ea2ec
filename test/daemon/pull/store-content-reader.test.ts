import { expect, test } from 'vitest'
import { servingOf } from '../../../src/daemon/status/page/mcp-serving.ts'
import { skill } from '../../e2e/world.ts'
import { Repository } from '../../support/git/repository.ts'
import { serve } from '../../support/served.ts'

test('a file that the system does not open is not taken for damaged: it is told in the log, and so is that it can be read again', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'a/SKILL.md': skill('a', 'first') })
  await using hub = await serve(repository)
  const { skill: stored } = hub.daemon.registry.catalog.listed[0]!
  const [file] = stored.files
  const { read } = servingOf(hub.daemon.parts.serving)

  // ENAMETOOLONG, as little about the file as EMFILE, which would be one of the whole process.
  const refused = await read(stored, { ...file!, path: 'x'.repeat(300) })
  const told = hub.logged()
  const whole = await read(stored, file!)

  expect(refused).toBe('not-now')
  expect(told).toContain('content-not-read')
  expect(told).not.toContain('content-damaged')
  expect(whole).toBeInstanceOf(Uint8Array)
  expect(hub.logged()).toMatch(/"recovered".*"content-not-read"/)
})
