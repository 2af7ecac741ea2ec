import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { lockHolderOf } from '../../src/daemon/control/daemon-lock.ts'
import { skill } from '../e2e/world.ts'
import { stdio } from '../support/clients/peer.ts'
import { Home } from '../support/process/program.ts'
import type { Program } from '../support/process/program.ts'
import { contain, generationsIn, inside, noContainers } from './containers.ts'
import { Scene } from './scene.ts'
import { listingAt } from './witness.ts'

const OBSTACLE = await noContainers()

describe.skipIf(OBSTACLE !== '')(`two containers with one state folder${OBSTACLE}`, () => {
  test('a daemon that finds one alive in another container ends and names it, and that one goes on', async () => {
    await using scene = await Scene.set()
    await using other = await neighbourOf(scene)
    await scene.play()

    const refused = await other.run('start')

    expect(refused).toMatchObject({ status: 1, stdout: '' })
    expect(refused.stderr).toContain('process 1 (skillsyncd start) of another container or machine')
    await scene.recovers()
    await scene.witness.testify()
  })

  test('a daemon takes over from a container that was killed, once its lease stood still for a term', async () => {
    await using scene = await Scene.set()
    await using other = await neighbourOf(scene)
    const killed = scene.home.start('start')
    const seen = await listingOnce(killed)
    await killed.kill()
    await scene.git.goAway()

    const heir = other.start('start')

    expect(await heir.said((line) => line.includes('"lock-watched"'))).toContain('process 1 (skillsyncd start)')
    expect(await listingAt(await heir.line())).toEqual(seen)
    await heir.kill()
  })

  test('commands read the state of a writer in another container, and say what to try where they cannot ask it', async () => {
    await using scene = await Scene.set()
    await using other = await neighbourOf(scene)
    await scene.play()

    const status = await other.run('status')
    const json = await other.run('status', '--json')
    const list = await other.run('list')
    const doctor = await other.run('doctor', '--json')
    const [hold, sync, reload] = [await other.run('hold', 'team'), await other.run('sync'), await other.run('reload')]

    expect(status).toMatchObject({ status: 0 })
    expect(status.stdout).toContain('process 1 (skillsyncd start) of another container or machine writes')
    expect(status.stdout).toContain('up to date')
    expect(JSON.parse(json.stdout)).toMatchObject({ elsewhere: { pid: 1, command: 'start', isAlive: true }, skills: 2 })
    expect(list.stdout).toContain('moving')
    const { checks }: { readonly checks: readonly { readonly check: string }[] } = JSON.parse(doctor.stdout)
    expect(checks.find(({ check }) => check === 'writer')).toMatchObject({
      verdict: 'warn',
      message: expect.stringContaining('of another container or machine writes the state folder and renews its lease'),
      fix: expect.stringContaining('XDG_RUNTIME_DIR'),
    })
    for (const end of [hold, sync, reload]) {
      expect(end).toMatchObject({ status: 1, stdout: '' })
      expect(end.stderr).toContain('of another container or machine')
      expect(end.stderr).toContain('XDG_RUNTIME_DIR')
    }
    await scene.recovers()
    await scene.witness.testify()
  })

  test('a writer that was frozen for longer than a term writes nothing any more once another took over, and ends', async () => {
    await using scene = await Scene.set()
    await using other = await neighbourOf(scene)
    const frozen = scene.home.start('start')
    await listingOnce(frozen)
    const pid = await inside(frozen.pid)
    process.kill(pid, 'SIGSTOP')
    const heir = other.start('start')
    const address = await heir.line()
    const commit = await scene.commit()
    await heir.said((line) => line.includes('"source-updated"') && line.includes(commit))
    const before = await generationsIn(scene.home.state)

    process.kill(pid, 'SIGCONT')
    const end = await frozen.ended()

    expect(end).toMatchObject({ status: 1 })
    expect(end.stderr).toContain('Cannot go on writing')
    expect(end.stderr).toContain('process 1 (skillsyncd start)')
    expect(end.stderr).not.toContain('    at ')
    expect(await generationsIn(scene.home.state)).toEqual(before)
    const next = await scene.commit()
    await heir.said((line) => line.includes('"source-updated"') && line.includes(next))
    expect(await listingAt(address)).not.toHaveLength(0)
    expect(await other.run('verify')).toMatchObject({ status: 0 })
    await heir.kill()
  })

  test('an mcp that wrote and was frozen follows the one that took over', async () => {
    await using scene = await Scene.set()
    await using other = await neighbourOf(scene)
    await using mcp = await stdio([], 'modern', scene.home.env, scene.home.under)
    await expect.poll(async () => (await lockHolderOf(scene.home.state))?.command).toBe('mcp')
    expect((await mcp.call('skills/list')).result.skills).toHaveLength(2)
    const pid = await inside(mcp.process.pid!)
    process.kill(pid, 'SIGSTOP')
    const heir = other.start('start')
    await heir.line()
    const commit = await scene.repository.commit({ 'new/SKILL.md': skill('new', 'of the heir') })
    await heir.said((line) => line.includes('"source-updated"') && line.includes(commit))

    process.kill(pid, 'SIGCONT')

    await expect.poll(async () => (await mcp.call('skills/list')).result.skills.length, { timeout: 60_000 }).toBe(3)
    expect(await lockHolderOf(scene.home.state)).toMatchObject({ command: 'start' })
    await expect.poll(() => mcp.stderr(), { timeout: 60_000 }).toContain('Cannot go on writing')
    await heir.kill()
  })

  test('a writer whose lock was removed by hand has it again before another container looks', async () => {
    await using scene = await Scene.set()
    await using other = await neighbourOf(scene)
    await scene.play()
    const before = await lockHolderOf(scene.home.state)
    await rm(join(scene.home.state, 'daemon.lock'))
    await expect
      .poll(async () => lockHolderOf(scene.home.state), { timeout: 60_000 })
      .toMatchObject({ nonce: before?.nonce })

    const refused = await other.run('start')

    expect(refused).toMatchObject({ status: 1, stdout: '' })
    await scene.recovers()
    await scene.witness.testify()
  })
})

/** A home in another container, with the state folder and the sources of the one of the scene, which is in one from now on. */
async function neighbourOf(scene: Scene): Promise<Home> {
  contain(scene.home)
  const other = contain(await Home.create())
  await writeFile(other.configFile, `${await readFile(scene.home.configFile, 'utf8')}state: ${scene.home.state}\n`)
  return other
}

async function listingOnce(daemon: Program): Promise<unknown> {
  const url = await daemon.line()
  await daemon.said((line) => line.includes('"source-updated"'))
  return listingAt(url)
}
