import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { notifySocketAt } from '../../../../src/daemon/commands/service/notify-socket.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

test('the program sends all lines at once, and has the address and nothing else of the environment', async () => {
  await using folder = await temporaryFolder()
  await writeFile(
    join(folder.path, 'systemd-notify'),
    `#!/bin/sh\n{ printf '%s\\n' "$@"; env | sort; } > ${folder.path}/told\n`,
  )
  await chmod(join(folder.path, 'systemd-notify'), 0o755)
  const path = `${folder.path}:/usr/bin:/bin`
  const socket = notifySocketAt('@manager', { path })

  await socket.tell(['READY=1', 'STATUS=two words'])

  const lines = (await readFile(join(folder.path, 'told'), 'utf8')).trim().split('\n')
  expect(lines.filter((line) => !/^(?:PWD|OLDPWD|SHLVL|_)=/.test(line))).toEqual([
    'READY=1',
    'STATUS=two words',
    'NOTIFY_SOCKET=@manager',
    `PATH=${path}`,
  ])
})

test.each([
  ['it cannot be started', undefined],
  ['it ended with 1', '#!/bin/sh\nexit 1\n'],
])('a program that does not tell is a failure: %s', async (why, program) => {
  await using folder = await temporaryFolder()
  if (program !== undefined) {
    await writeFile(join(folder.path, 'systemd-notify'), program)
    await chmod(join(folder.path, 'systemd-notify'), 0o755)
  }
  const socket = notifySocketAt('@manager', { path: folder.path })

  await expect(socket.tell(['READY=1'])).rejects.toThrow(why)
})
