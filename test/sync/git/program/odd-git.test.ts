import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { mendOf } from '../../../../src/sync/model/sync-error.ts'
import { Repository } from '../../../support/git/repository.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { reach, STEADY } from '../../upstream/reached.ts'
import { failureOf } from '../../upstream/served.ts'

const UPSTREAM = /Correct upstream/
const PROGRAM = /^Check the program that `programs\.git` names$/

test.each([
  ['lists no refs', '*ls-remote*', 'echo hello', 'source-unreachable', /: the answer is not a list of refs$/, PROGRAM],
  [
    'prints a line without end',
    '*"cat-file --batch"',
    'head -c 9000 /dev/zero; sleep 60',
    'source-unreachable',
    /^Cannot read what git prints: it has a line of over 4096 bytes$/,
    PROGRAM,
  ],
  [
    'prints another object',
    '*"cat-file --batch"',
    'read id; printf "%s commit 3\\nabc\\n" "$id"',
    'content-refused',
    /^Cannot read [0-9a-f]{40}: the object is damaged$/,
    UPSTREAM,
  ],
  [
    'ends over an object',
    '*"cat-file --batch"',
    'echo "fatal: odd object" >&2; exit 128',
    'content-refused',
    /^Cannot read the objects: git says "fatal: odd object"$/,
    UPSTREAM,
  ],
])('a git that %s is refused with its code and a next step', async (_, command, does, code, message, mend) => {
  await using repository = await Repository.create()
  await repository.commit({ 'a.md': 'a' })
  await using folder = await temporaryFolder()
  const git = join(folder.path, 'git')
  await writeFile(git, `#!/bin/sh\ncase "$*" in ${command}) ${does}; exit;; esac\nexec git "$@"\n`, { mode: 0o755 })
  await using reached = await reach(pathToFileURL(repository.folder).href, { git, backend: 'system' })

  const failure = await failureOf(reached.tree())

  expect(failure).toMatchObject({ code, message: expect.stringMatching(message) })
  expect(mendOf(failure)).toMatch(mend)
})

test('a key for ssh that is not there is a failure that names it', async () => {
  const key = { kind: 'file', path: '/nonexistent/key', name: 'key "/nonexistent/key"' } as const
  await using reached = await reach('ssh://git@127.0.0.1:1/r.git', { access: { key } })

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure).toMatchObject({
    code: 'credentials-rejected',
    message: 'Cannot read the key "/nonexistent/key": no such file',
  })
  expect(mendOf(failure)).toMatch(/`auth`/)
})
