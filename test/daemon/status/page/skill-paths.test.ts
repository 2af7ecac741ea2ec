import { chmod, mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import type { WholeConfig } from '../../../../src/daemon/configuration.ts'
import { parseConfig } from '../../../../src/daemon/configuration.ts'
import { sharedDiskOf } from '../../../../src/daemon/status/page/skill-paths.ts'
import type { SharedDisk } from '../../../../src/serve/mcp/tools/tool-document.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { damageObject } from '../../../support/damage.ts'
import { setHold } from '../../../support/decided.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { keepSamples, numbered, sourceId } from '../../../sync/store/samples.ts'

const LOCAL = sourceId('local')
const { skill, bytes } = numbered(1)

test('of a folder the path in it is told, with what lies there now', async () => {
  await using desk = await Desk.open()

  const present = await desk.disk()?.present(LOCAL, skill)

  expect(present).toEqual({ path: join(desk.skills, skill.path, 'SKILL.md'), bytes: Buffer.from('live') })
})

test('of a skill behind a link the path in the folder is told', async () => {
  await using desk = await Desk.open()
  await rename(join(desk.skills, skill.path), join(desk.skills, '../elsewhere'))
  await symlink('../elsewhere', join(desk.skills, skill.path))

  const present = await desk.disk(['links: follow'])?.present(LOCAL, skill)

  expect(present).toEqual({ path: join(desk.skills, skill.path, 'SKILL.md'), bytes: Buffer.from('live') })
  expect(await desk.disk()?.present(LOCAL, skill)).toBeUndefined()
})

test('of a repository there is no such path, and the stored version is told', async () => {
  await using desk = await Desk.open()
  await keepSamples(desk.store, numbered(1))

  const path = await desk.disk()?.pathOf(skill)

  expect(await desk.disk()?.present(sourceId('team'), skill)).toBeUndefined()
  expect(path).toBe(join(desk.store.folder.path, 'checkouts', skill.digest ?? '', 'skill-1', 'SKILL.md'))
  expect(await readFile(path ?? '')).toEqual(bytes.get('SKILL.md'))
})

test('what lies at a path that is told is as stored, whatever an agent made of it before', async () => {
  await using desk = await Desk.open()
  await keepSamples(desk.store, numbered(1))
  const path = (await desk.disk()?.pathOf(skill)) ?? ''
  const deep = join(dirname(path), 'references', 'deep', 'own.md')
  await chmod(deep, 0o600)
  await writeFile(deep, 'edited')

  expect(await desk.disk()?.pathOf(skill)).toBe(path)
  expect(await readFile(deep)).toEqual(bytes.get('references/deep/own.md'))
})

test('no path is told of a skill that the store has damaged', async () => {
  await using desk = await Desk.open()
  await keepSamples(desk.store, numbered(1))
  damageObject(desk.store, skill.files[0]!.sha256)

  expect(await desk.disk()?.pathOf(skill)).toBeUndefined()
})

test('a path into a folder is told nobody where a lock, a gate or a person has a say', async () => {
  await using desk = await Desk.open()
  const isPresent = async (disk: SharedDisk | undefined): Promise<boolean> =>
    (await disk?.present(LOCAL, skill)) !== undefined

  expect(await isPresent(desk.disk())).toBe(true)
  expect(await isPresent(desk.disk(['update: review']))).toBe(false)
  expect(await isPresent(desk.disk(['update: locked']))).toBe(false)
  expect(await isPresent(desk.disk([], ['gate: { command: /bin/true }']))).toBe(false)
  const locked = { ...desk.config(), mode: { locked: true, offline: false } }
  expect(await isPresent(sharedDiskOf(locked, desk.store))).toBe(false)
  await setHold(desk.store.decisions, LOCAL, { noPoll: true, at: '2026-06-15T10:00:00.000Z' })
  expect(await isPresent(desk.disk())).toBe(false)
  await setHold(desk.store.decisions, LOCAL, undefined)
  expect(await isPresent(desk.disk())).toBe(true)
})

test('a path into a folder is told nobody whose last look failed or was held', async () => {
  await using desk = await Desk.open()
  const looked = { lastAttempt: undefined, lastSuccess: undefined, revision: undefined }
  const problem = { code: 'content-refused', message: 'Cannot take the commit' } as const

  await desk.store.records.write(LOCAL, { ...looked, problem })
  const refused = await desk.disk()?.present(LOCAL, skill)
  await desk.store.records.write(LOCAL, { ...looked, problem: undefined })
  const taken = await desk.disk()?.present(LOCAL, skill)

  expect(refused).toBeUndefined()
  expect(taken).toMatchObject({ path: join(desk.skills, skill.path, 'SKILL.md') })
})

test('where decisions cannot be read, nobody knows, and nobody is told', async () => {
  await using desk = await Desk.open()
  await writeFile(desk.store.decisions.file, '{')
  await desk.store.decisions.read().catch(() => {})

  expect(await desk.disk()?.present(LOCAL, skill)).toBeUndefined()
})

test('where the operator wants no path told, there is no shared disk', async () => {
  await using desk = await Desk.open()

  expect(desk.disk([], ['serve: { forms: [default, -paths] }'])).toBeUndefined()
})

/** A state folder, and a folder of skills with the skill of the tests. */
class Desk implements AsyncDisposable {
  readonly store: Store
  readonly skills: string
  readonly #folder: AsyncDisposable

  private constructor(store: Store, skills: string, folder: AsyncDisposable) {
    this.store = store
    this.skills = skills
    this.#folder = folder
  }

  static async open(): Promise<Desk> {
    const folder = await temporaryFolder()
    const skills = join(folder.path, 'skills')
    for (const [path, text] of [...bytes, ['SKILL.md', 'live'] as const]) {
      const file = join(skills, skill.path, path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
    }
    return new Desk(await Store.open(join(folder.path, 'state')), skills, folder)
  }

  config(source: readonly string[] = [], rest: readonly string[] = []): WholeConfig {
    const local = ['id: local', `path: ${this.skills}`, ...source].join('\n    ')
    const team = ['id: team', 'url: https://git.example.com/skills.git'].join('\n    ')
    const yaml = [`sources:\n  - ${local}\n  - ${team}`, `state: ${this.store.folder.path}`, ...rest].join('\n')
    const config = parseConfig(yaml, 'skillsyncd.yaml', environmentOf({}, '/home/me'))
    if (Array.isArray(config)) throw new Error(JSON.stringify(config))
    return config
  }

  disk(source: readonly string[] = [], rest: readonly string[] = []): SharedDisk | undefined {
    return sharedDiskOf(this.config(source, rest), this.store)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]()
  }
}
