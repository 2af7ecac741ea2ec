import { mkdir, readFile, readdir, readlink, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { install } from '../../../../src/daemon/commands/service/install.ts'
import { expectSystemSees, expectUserSees } from '../../../../src/daemon/commands/service/sandbox.ts'
import { MARK } from '../../../../src/daemon/commands/service/units.ts'
import type { Service } from '../../../../src/daemon/commands/service/units.ts'
import { asNobody } from '../../../support/content/folder.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

test('what is new is written, for everybody to read; what is the same stays; what we wrote before is written anew', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'systemd', 'skillsyncd.service')

  const first = await install([{ path, text: `${MARK}one` }], false)
  const second = await install([{ path, text: `${MARK}one` }], false)
  const third = await install([{ path, text: `${MARK}two` }], false)

  expect([first, second, third].flat().map(({ change }) => change)).toEqual(['written', 'unchanged', 'written'])
  expect(await readFile(path, 'utf8')).toBe(`${MARK}two`)
  expect(((await stat(path)).mode & 0o777).toString(8)).toBe('644')
})

test('where one of the files is not ours none is written, unless it is said', async () => {
  await using folder = await temporaryFolder()
  const [mine, yours] = ['a.service', 'b.socket'].map((name) => join(folder.path, name))
  await writeFile(yours!, '[Socket]\n')
  const files = [mine!, yours!].map((path) => ({ path, text: `${MARK}text` }))

  await expect(install(files, false)).rejects.toThrow(
    `Cannot write "${yours}": it exists, and skillsyncd did not write it; check it, and try --force`,
  )
  const before = await readdir(folder.path)
  await install(files, true)

  expect(before).toEqual(['b.socket'])
  expect(await readFile(yours!, 'utf8')).toBe(`${MARK}text`)
})

test('where one of the files cannot be written, all are as they were', async () => {
  await using folder = await temporaryFolder()
  const [fresh, ours, masked, inTheWay] = ['a', 'b', 'c', 'd'].map((name) => join(folder.path, `${name}.service`))
  await writeFile(ours!, `${MARK}one`, { mode: 0o600 })
  await symlink('/dev/null', masked!)
  await mkdir(inTheWay!)
  const files = [fresh!, ours!, masked!, inTheWay!].map((path) => ({ path, text: `${MARK}two` }))

  await expect(install(files, true)).rejects.toThrow('EISDIR')

  expect(await readdir(folder.path)).toEqual(['b.service', 'c.service', 'd.service'])
  expect(await readFile(ours!, 'utf8')).toBe(`${MARK}one`)
  expect(((await stat(ours!)).mode & 0o777).toString(8)).toBe('600')
  expect(await readlink(masked!)).toBe('/dev/null')
})

test('a unit that was masked is not written through', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'skillsyncd.service')
  await symlink('/dev/null', path)

  await expect(install([{ path, text: MARK }], false)).rejects.toThrow('did not write')
})

test('who may not write there is told how to', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'skillsyncd.service')

  await asNobody(folder.path, async () => {
    await expect(install([{ path, text: MARK }], false)).rejects.toThrow(
      `Cannot write "${path}": permission denied; run it as root (sudo), or install for yourself with --user`,
    )
  })
})

const SERVICE: Service = {
  program: { node: '/usr/bin/node', main: '/usr/lib/skillsyncd/main.js', folder: '/usr/lib/skillsyncd' },
  config: '/etc/hostname',
  state: '/home/ada/.local/state/skillsyncd',
  http: { host: '127.0.0.1', port: 8741 },
  folders: [],
}

test.each([
  [
    'a Node in a home',
    { program: { ...SERVICE.program, node: '/home/ada/.nvm/versions/node/v24/bin/node' } },
    'or use --user',
  ],
  ['a program of root', { program: { ...SERVICE.program, main: '/root/skillsyncd/main.js' } }, 'or use --user'],
  ['a configuration in a home', { config: '/home/ada/skillsyncd.yaml' }, 'move it to /etc/skillsyncd/skillsyncd.yaml'],
  ['a configuration among temporary files', { config: '/tmp/skillsyncd.yaml' }, 'move it to'],
])('%s cannot be seen by a service of the system, which says what to do', async (_, change, mend) => {
  await expect(expectSystemSees({ ...SERVICE, ...change })).rejects.toThrow(mend)
})

test('what a service of a user needs may lie in her home, and not among temporary files', async () => {
  const inHome = { ...SERVICE, config: '/home/ada/.config/skillsyncd/skillsyncd.yaml' }

  await expectUserSees(inHome)
  await expect(expectUserSees({ ...inHome, state: '/tmp/state' })).rejects.toThrow(
    'Cannot make a service of "/tmp/state": its sandbox hides that folder; keep it elsewhere',
  )
})
