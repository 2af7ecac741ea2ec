import { randomBytes } from 'node:crypto'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { Repository } from '../../../support/git/repository.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { reach, STEADY } from '../../upstream/reached.ts'
import { failureOf } from '../../upstream/served.ts'

test('a git that is killed while it prints objects is a failure that passes by itself', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'a.md': 'a' })
  await using folder = await temporaryFolder()
  const [git, marker] = [join(folder.path, 'git'), join(folder.path, 'killed')]
  const dies = `test -e ${marker} || { echo $$ > ${marker}; kill -9 $$; }`
  await writeFile(git, `#!/bin/sh\ncase "$*" in *"cat-file --batch") ${dies};; esac\nexec git "$@"\n`)
  await chmod(git, 0o755)
  await using reached = await reach(pathToFileURL(repository.folder).href, { git, backend: 'system' })

  const failure = await failureOf(reached.tree())

  expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('git ended') })
  expect(await readFile(marker, 'utf8')).toMatch(/^\d+\n$/)
  await using tree = await reached.tree()
  expect(tree.list(tree.root)).toHaveLength(1)
})

test('a git that ends over an object that is damaged is still a refusal', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'a.md': 'a' })
  const blob = await repository.blob(randomBytes(9000))
  await repository.commitTree(await repository.rawTree([{ mode: '100644', name: 'a.md', id: blob }]))
  await using reached = await reach(pathToFileURL(repository.folder).href, { backend: 'system' })
  await using tree = await reached.tree()
  const file = join(repository.folder, 'objects', blob.slice(0, 2), blob.slice(2))
  await chmod(file, 0o600)
  const bytes = await readFile(file)
  bytes.fill(0, bytes.length - 10)
  await writeFile(file, bytes)

  const failure = await failureOf(tree.take([tree.list(tree.root)[0]!.id], STEADY))

  expect(failure.code).toBe('content-refused')
})
