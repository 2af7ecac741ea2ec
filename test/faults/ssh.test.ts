import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { skill } from '../e2e/world.ts'
import { SshHost } from '../support/git/ssh-host.ts'
import { processes } from '../support/process/processes.ts'
import type { ShownProcess } from '../support/process/processes.ts'
import { MuteFront } from './mute-front.ts'
import { Scene } from './scene.ts'

test('a host of ssh that takes connections and says nothing is given up, and no process is left', async () => {
  await using host = await SshHost.start()
  await using front = await MuteFront.before(`tcp://127.0.0.1:${host.port}`)
  await using scene = await sceneOverSsh(host, front.port, 'connect_timeout: 2s, idle_timeout: 3s')
  await scene.play()

  front.isMute = true
  const programs = await groupOf(scene.daemon.pid)
  await scene.problem('source-unreachable')
  await scene.witness.looksAgain()
  front.isMute = false

  await expect.poll(() => programs.filter(isThere), LONG).toEqual([])
  await scene.recovers()
  await scene.expectWell()
})

test('a host of ssh that stops in the middle of a pack is given up, and neither process nor file is left', async () => {
  await using host = await SshHost.start()
  await using scene = await sceneOverSsh(host, host.port, 'connect_timeout: 1h, idle_timeout: 5s')
  await scene.play()

  const { folder } = scene.repository
  // Short answers end well, and nothing that was said before waits in a buffer.
  const stops =
    'dd bs=1 count=20000 2> /dev/null; [ "$(head -c 1 | wc -c)" = 0 ] || while kill -0 $PPID 2> /dev/null; do sleep 1; done'
  await host.run(`exec 3<&0; git-upload-pack ${folder} <&3 | (${stops})`)
  await scene.repository.commit({ 'large/SKILL.md': skill('large', 'x'), 'large/data.bin': randomBytes(300_000) })
  const programs = await groupOf(scene.daemon.pid, 'fetch')
  expect(await scene.problem('source-unreachable')).toContain('nothing came within 5000 ms')
  await scene.witness.looksAgain()
  await host.run(undefined)

  await expect.poll(() => programs.filter(isThere), LONG).toEqual([])
  await scene.recovers()
  await scene.expectWell()
})

/** A scene whose source is behind ssh, at a port. `times`: those of a fetch. */
async function sceneOverSsh(host: SshHost, port: number, times: string): Promise<Scene> {
  const scene = await Scene.set()
  const knownHosts = join(scene.home.path, 'known_hosts')
  await writeFile(knownHosts, (await host.knownAs('host_key')).replace(`:${host.port} `, `:${port} `))
  const url = host.url(scene.repository.folder).replace(`:${host.port}/`, `:${port}/`)
  const auth = `auth: { ssh: { key: { file: ${host.key} }, known_hosts: ${knownHosts} } }`
  const limits = `limits: { fetch: { ${times}, total_timeout: 1h } }`
  await scene.home.configure({ team: [`url: ${url}`, 'every: 1s', auth] }, [limits])
  return scene
}

/** The processes of a git that the daemon started and of all in its group, once ssh is among them. */
async function groupOf(daemon: number, verb = ''): Promise<readonly number[]> {
  let group: readonly ShownProcess[] = []
  const now = async () => {
    const all = await processes()
    const git = all.find(({ parent, line }) => parent === daemon && line.includes('git') && line.includes(verb))
    group = all.filter((process) => process.group === git?.group)
    return group.some(({ program }) => program === 'ssh')
  }
  await expect.poll(now, LONG).toBe(true)
  return group.map(({ pid }) => pid)
}

function isThere(pid: number): boolean {
  return existsSync(`/proc/${pid}`)
}

/** For what takes as long as the machine takes. */
const LONG = { timeout: 300_000 } as const
