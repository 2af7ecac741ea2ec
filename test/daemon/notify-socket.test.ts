import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DgramSocket } from 'node-unix-socket'
import { expect, test } from 'vitest'
import { openNotifySocket } from '../../src/daemon/notify-socket.ts'
import { temporaryFolder } from '../support/temporary.ts'

test('all lines of a message come as one datagram', async () => {
  await using folder = await temporaryFolder()
  const address = join(folder.path, 'notify')
  using manager = listenAt(address)
  const socket = await openNotifySocket(address, { path: '/nonexistent' })

  await socket.tell(['READY=1', 'STATUS=fünf Skills'])
  await socket.tell(['WATCHDOG=1'])

  expect(socket.way).toBe('socket')
  expect([await manager.next(), await manager.next()]).toEqual(['READY=1\nSTATUS=fünf Skills', 'WATCHDOG=1'])
})

test('where nobody listens, telling fails', async () => {
  await using folder = await temporaryFolder()
  const socket = await openNotifySocket(join(folder.path, 'nobody'), { path: '/nonexistent' })

  await expect(socket.tell(['READY=1'])).rejects.toThrow('No such file')
})

test('an address without a path is told by the program, with that address and nothing else of ours', async () => {
  await using folder = await temporaryFolder()
  await writeFile(
    join(folder.path, 'systemd-notify'),
    `#!/bin/sh\n{ printf '%s\\n' "$@"; env | sort; } > ${folder.path}/told\n`,
  )
  await chmod(join(folder.path, 'systemd-notify'), 0o755)
  const path = `${folder.path}:/usr/bin:/bin`
  const socket = await openNotifySocket('@manager', { path })

  await socket.tell(['READY=1', 'STATUS=two words'])

  const lines = (await readFile(join(folder.path, 'told'), 'utf8')).trim().split('\n')
  expect(socket.way).toBe('program')
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
  const socket = await openNotifySocket('@manager', { path: folder.path })

  await expect(socket.tell(['READY=1'])).rejects.toThrow(why)
})

/** A manager, as far as it is spoken to. */
function listenAt(address: string): { next(): Promise<string> } & Disposable {
  const socket = new DgramSocket()
  const heard: string[] = []
  let wake = (): void => {}
  socket.on('data', (message: Buffer) => {
    heard.push(message.toString())
    wake()
  })
  socket.bind(address)
  return {
    async next() {
      while (heard.length === 0) await new Promise<void>((resolve) => (wake = resolve))
      return heard.shift() ?? ''
    },
    [Symbol.dispose]: () => socket.close(),
  }
}
