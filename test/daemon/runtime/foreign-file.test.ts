import { chmod, chown, link, mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expectOwn, readForeign, writeForeign } from '../../../src/daemon/runtime/foreign-file.ts'
import { temporaryFolder } from '../../support/temporary.ts'

test('a file that another program wrote since it was read is left', async () => {
  await using folder = await temporaryFolder()
  const place = { path: join(folder.path, 'settings.json') }
  await writeFile(place.path, '{}')
  const found = await readForeign(place)
  await writeFile(place.path, '{"theme": "dark"}')

  await expect(writeForeign(found, '{"a": 1}', place, 0o600)).rejects.toThrow('another program has written it')

  expect(await readFile(place.path, 'utf8')).toBe('{"theme": "dark"}')
  expect(await readdir(folder.path)).toEqual(['settings.json'])
})

test('a file that came since is left, and one whose link leads elsewhere now', async () => {
  await using folder = await temporaryFolder()
  const place = { path: join(folder.path, 'a/b/settings.json') }
  const absent = await readForeign(place)
  await mkdir(join(folder.path, 'c'))
  await mkdir(join(folder.path, 'a'))
  await symlink(join(folder.path, 'c'), join(folder.path, 'a/b'))

  await expect(writeForeign(absent, '{}', place, 0o600)).rejects.toThrow('another program')
  expect(await readdir(join(folder.path, 'c'))).toEqual([])
})

test('the mode is kept, whatever the umask is', async () => {
  await using folder = await temporaryFolder()
  const place = { path: join(folder.path, 'settings.json') }
  await writeFile(place.path, '{}')
  await chmod(place.path, 0o666)

  await writeForeign(await readForeign(place), '{"a": 1}', place, 0o600)

  expect((await stat(place.path)).mode & 0o777).toBe(0o666)
})

test('what is no plain file of one name is refused', async () => {
  await using folder = await temporaryFolder()
  const at = (name: string) => join(folder.path, name)
  await mkdir(at('folder'))
  await writeFile(at('one'), '{}')
  await link(at('one'), at('two'))
  await symlink(at('none'), at('dangling'))
  await symlink(at('loop'), at('loop'))

  await expect(readForeign({ path: at('folder') })).rejects.toThrow('it is not a file')
  await expect(readForeign({ path: at('two') })).rejects.toThrow('hard links')
  await expect(readForeign({ path: at('dangling') })).rejects.toThrow('a link to no file')
  await expect(readForeign({ path: at('loop') })).rejects.toThrow('Cannot use')
  await expect(readForeign({ path: '/dev/null' })).rejects.toThrow('it is not a file')
})

test.skipIf(process.getuid?.() !== 0)('a file of another user is refused (needs root)', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'settings.json')
  await writeFile(path, '{}')
  await chown(path, 12_345, 12_345)

  await expect(readForeign({ path })).rejects.toThrow('its owner is user 12345, and this is user 0')
})

test('a file of root may be read, and not replaced by another user', () => {
  const content = { text: '{}', mode: 0o644, user: (process.getuid?.() ?? 0) + 1, group: 0 }

  expect(() => expectOwn({ path: '/etc/x', target: '/etc/x', content })).toThrow('its owner is user')
})
