import { copyFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { skillEntryOf } from '../../src/serve/mcp/resources/files/skill-entry.ts'
import { World } from '../e2e/world.ts'
import { runGit } from '../support/git/repository.ts'
import { SigningWorld, type SshKeyFile } from '../support/git/signing.ts'
import { Home } from '../support/process/program.ts'
import { Desk, skills } from './desk.ts'

/** A source whose commits have to be signed by those in a list that the test writes. */
class Scene implements AsyncDisposable {
  readonly desk: Desk
  readonly keys: SigningWorld
  readonly #list: string

  private constructor(desk: Desk, keys: SigningWorld) {
    this.desk = desk
    this.keys = keys
    this.#list = join(keys.folder, 'signers')
  }

  static async open(): Promise<Scene> {
    return new Scene(await Desk.open(), await SigningWorld.create())
  }

  async trust(...keys: readonly SshKeyFile[]): Promise<void> {
    await writeFile(this.#list, keys.map(({ line }) => `ada@example.com ${line}\n`).join(''))
  }

  /** The key alone, and for what is dated before the end of that day: a year before the clock of the daemon. */
  async trustUntilJune16(key: SshKeyFile): Promise<void> {
    await writeFile(this.#list, `ada@example.com valid-before="20250616Z" ${key.line}\n`)
  }

  /** From the next start on. */
  demand(require: 'commit' | 'tag' = 'commit', ...more: readonly string[]): void {
    const members = [`require: ${require}`, `allowed_signers: ${this.#list}`, ...more]
    this.desk.source = [`signed: { ${members.join(', ')} }`]
  }

  /** One signed skill, served, by the only key that is trusted. */
  async serveSigned(...more: readonly string[]): Promise<{ readonly key: SshKeyFile; readonly commit: string }> {
    const key = await this.keys.sshKey('ada')
    await this.trust(key)
    this.demand('commit', ...more)
    const commit = await this.commit(['one'], key)
    await this.desk.start()
    await this.desk.sync()
    return { key, commit }
  }

  /** A commit on the branch, signed where a key is given. */
  async commit(names: readonly string[], key?: SshKeyFile): Promise<string> {
    const { repository } = this.desk
    const plain = await repository.commit(skills(...names))
    if (key === undefined) return plain
    const command = ['commit-tree', '-S', '-m', 'signed', `${plain}^{tree}`]
    const signed = (await runGit(['--git-dir', repository.folder, ...key.options, ...command])).toString().trim()
    await repository.git('update-ref', 'refs/heads/main', signed)
    return signed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.desk[Symbol.asyncDispose]()
    await this.keys[Symbol.asyncDispose]()
  }
}

test('what nobody signed leaves service when signatures are demanded, at the start and without a network', async () => {
  await using scene = await Scene.open()
  const { desk } = scene
  const key = await scene.keys.sshKey('ada')
  await scene.trust(key)
  await scene.commit(['one'])
  await desk.start()
  await desk.sync()
  const before = desk.names()

  scene.demand()
  await desk.start()
  const after = desk.names()
  const outcome = await desk.sync()

  expect([before, after]).toEqual([['one'], []])
  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'revision-unverified' } })
  expect(desk.status().problem).toMatchObject({
    code: 'revision-unverified',
    message: expect.stringContaining('not signed'),
  })
  expect((await desk.history())[0]).toMatchObject({ cause: { action: 'withdraw', trigger: 'start' } })
})

test('what a trusted key signed is served, and who it was is in the status and the _meta of each skill', async () => {
  await using scene = await Scene.open()
  const { desk } = scene

  const { key } = await scene.serveSigned()

  const signers = { commit: { scheme: 'ssh', principal: 'ada@example.com', fingerprint: key.fingerprint } }
  expect(desk.status().served).toMatchObject({ signers })
  const [skill] = desk.daemon.registry.catalog.listed
  expect(skillEntryOf(skill!)._meta).toEqual({ 'dev.skillsyncd/signers': signers })
})

test('a commit that nobody signed is not taken, and the signed one before it is served on, over a restart too', async () => {
  await using scene = await Scene.open()
  const { desk } = scene
  const { commit: signed } = await scene.serveSigned()
  await scene.commit(['one', 'two'])

  const outcome = await desk.sync()
  await desk.start()

  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'revision-unverified' } })
  expect([desk.served(), desk.names()]).toEqual([signed, ['one']])
})

test('a key that is taken from the list takes what it signed out of service, and brings it back when it is back', async () => {
  await using scene = await Scene.open()
  const { desk } = scene
  const [ada, bob] = [await scene.keys.sshKey('ada'), await scene.keys.sshKey('bob')]
  await scene.trust(ada, bob)
  scene.demand()
  const commit = await scene.commit(['one'], ada)
  await desk.start()
  await desk.sync()

  await scene.trust(bob)
  const revoked = await desk.sync()
  const without = desk.names()
  await scene.trust(bob, ada)
  const back = await desk.sync()

  expect(revoked).toMatchObject({ kind: 'failed', withdraw: true, error: { code: 'revision-unverified' } })
  expect(without).toEqual([])
  expect(back).toMatchObject({ kind: 'updated', revision: { commit } })
  expect(desk.names()).toEqual(['one'])
})

test('no rollback leads to what nobody signed', async () => {
  await using scene = await Scene.open()
  const { desk } = scene
  const key = await scene.keys.sshKey('ada')
  await scene.trust(key)
  const plain = await scene.commit(['one'])
  await desk.start()
  await desk.sync()
  scene.demand()
  const signed = await scene.commit(['two'], key)
  await desk.start()
  await desk.sync()

  await expect(desk.hold(plain)).rejects.toMatchObject({ code: 'revision-unverified' })

  expect(desk.served()).toBe(signed)
})

test('a signed source that did not move is unchanged over a restart, and is no new generation', async () => {
  await using scene = await Scene.open()
  const { desk } = scene
  await scene.serveSigned()
  await desk.start()

  const outcome = await desk.sync()

  expect(outcome.kind).toBe('unchanged')
  expect(await desk.history()).toHaveLength(1)
})

test.each([
  ['a hold', (desk: Desk) => desk.decide('hold')],
  ['a hold without polls', (desk: Desk) => desk.holdUnpolled()],
])('a key that is taken from the list counts for what %s keeps, too', async (_, hold) => {
  await using scene = await Scene.open()
  const { desk } = scene
  const [ada, bob] = [await scene.keys.sshKey('ada'), await scene.keys.sshKey('bob')]
  await scene.trust(ada, bob)
  scene.demand()
  await scene.commit(['one'], ada)
  await desk.start()
  await desk.sync()
  await hold(desk)
  await scene.commit(['one', 'two'], bob)

  await scene.trust(bob)
  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'failed', withdraw: true, error: { code: 'revision-unverified' } })
  expect(desk.names()).toEqual([])
})

test('a list of signers that is gone for a moment takes nothing away that was proved', async () => {
  await using scene = await Scene.open()
  const { desk } = scene
  await scene.serveSigned()

  await rm(join(scene.keys.folder, 'signers'))
  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'revision-unverified' } })
  expect(desk.names()).toEqual(['one'])
})

test('a key that is taken from the list while the gate is asked counts no more when it has answered', async () => {
  await using scene = await Scene.open()
  const { desk } = scene
  const { key, commit } = await scene.serveSigned()
  const gate = join(scene.keys.folder, 'gate.sh')
  await writeFile(gate, `#!/bin/sh\ncat > /dev/null\n: > ${join(scene.keys.folder, 'signers')}\n`, { mode: 0o755 })
  desk.rest = [`gate: { command: ${gate} }`]
  await desk.start()
  await scene.commit(['one', 'two'], key)

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'revision-unverified' } })
  expect(desk.served()).toBe(commit)
})

test('a commit dated before the end of its key that comes after the grace is not taken, and what is served stays', async () => {
  await using scene = await Scene.open()
  const { desk } = scene
  const { key, commit } = await scene.serveSigned('grace: 7d')
  await scene.trustUntilJune16(key)
  const late = await scene.commit(['one', 'two'], key)

  const outcome = await desk.sync()
  await desk.start()
  const again = await desk.sync()

  expect([outcome, again]).toMatchObject([
    { kind: 'failed', error: { code: 'revision-unverified' } },
    { kind: 'failed', error: { code: 'revision-unverified' } },
  ])
  expect([desk.served(), desk.names()]).toEqual([commit, ['one']])
  expect(desk.status().problem?.message).toBe(
    `Cannot take commit ${late} of "team": the commit is signed by the key ${key.fingerprint}, which expired on 2025-06-16T00:00:00Z, and comes for the first time more than 7d (signed.grace) after that; if you know it, extend the key until the object is accepted`,
  )
})

test('a commit that comes after the grace is taken once the end of its key is put off, and stays when that is undone', async () => {
  await using scene = await Scene.open()
  const { desk } = scene
  const { key } = await scene.serveSigned('grace: 7d')
  await scene.trustUntilJune16(key)
  const late = await scene.commit(['one', 'two'], key)
  const refused = await desk.sync()

  await scene.trust(key)
  const taken = await desk.sync()
  await scene.trustUntilJune16(key)
  const after = await desk.sync()
  await desk.start()

  expect([refused.kind, taken.kind, after.kind]).toEqual(['failed', 'updated', 'unchanged'])
  expect([desk.served(), desk.names()]).toEqual([late, ['one', 'two']])
})

test('what is served is taken anew by other rules after the grace of its key', async () => {
  await using scene = await Scene.open()
  const { desk } = scene
  const { key, commit } = await scene.serveSigned('grace: 7d')
  await scene.trustUntilJune16(key)
  desk.source = [...desk.source, 'exclude: [none]']
  await desk.start()

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'updated', revision: { commit } })
  expect(desk.names()).toEqual(['one'])
})

test('a commit that was served before comes back after the grace of its key', async () => {
  await using scene = await Scene.open()
  const { desk } = scene
  const { key, commit: first } = await scene.serveSigned('grace: 7d')
  const second = await scene.commit(['two'], key)
  await desk.sync()
  await desk.repository.git('update-ref', 'refs/heads/main', first)
  await desk.sync()
  const between = desk.names()

  await scene.trustUntilJune16(key)
  await desk.repository.git('update-ref', 'refs/heads/main', second)
  const outcome = await desk.sync()

  expect([between, desk.names()]).toEqual([['one'], ['one', 'two']])
  expect(outcome).toMatchObject({ kind: 'updated', revision: { commit: second } })
})

test('a tag that is signed anew for a known commit comes for the first time', async () => {
  await using scene = await Scene.open()
  const { desk } = scene
  const key = await scene.keys.sshKey('ada')
  const tag = (message: string) =>
    desk.repository.git(...key.options, 'tag', '--force', '-s', '-m', message, 'v1', 'main')
  await scene.trust(key)
  scene.demand('tag', 'grace: 7d')
  desk.source = [...desk.source, 'ref: v1', 'brakes: follow']
  const commit = await scene.commit(['one'])
  await tag('first')
  await desk.start()
  await desk.sync()
  const before = desk.served()
  await scene.trustUntilJune16(key)
  await tag('second')

  const outcome = await desk.sync()

  expect(before).toBe(commit)
  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'revision-unverified' } })
  expect(desk.status().problem?.message).toContain('the tag is signed by the key')
})

test('what a lock names is taken on a new machine after the grace of its key, and nothing else is', async () => {
  await using world = await World.create()
  await using scene = await Scene.open()
  await using fresh = await Home.create()
  const key = await scene.keys.sshKey('ada')
  const list = join(scene.keys.folder, 'signers')
  const signed = `signed: { require: commit, allowed_signers: ${list}, grace: 7d }`
  const sign = async () => {
    const command = [...key.options, 'commit-tree', '-S', '-m', 'signed', 'main^{tree}']
    await world.repository.git('update-ref', 'refs/heads/main', await world.repository.git(...command))
  }
  await scene.trust(key)
  await sign()
  for (const home of [world.home, fresh])
    await home.configure({ team: [`url: ${world.git.origin}/team.git`, 'every: 1h', signed] })
  expect(await world.home.command('lock')).toMatchObject({ status: 0 })
  await scene.trustUntilJune16(key)

  const unlocked = await fresh.command('sync')
  await copyFile(world.home.lockFile, fresh.lockFile)
  const locked = await fresh.command('sync')

  expect(unlocked).toMatchObject({ status: 1, stdout: expect.stringContaining('comes for the first time') })
  expect(locked).toMatchObject({ status: 0 })
})
