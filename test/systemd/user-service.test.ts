import { describe, expect, test, vi } from 'vitest'
import { INSTALLED, Manager, NODE } from '../support/process/manager.ts'
import type { Ended } from '../support/process/program.ts'

vi.setConfig({ testTimeout: 180_000 })

const OBSTACLE = await Manager.obstacle()
const HOME = '/home/ada'
const STATE = `${HOME}/.local/state/skillsyncd`

describe.skipIf(OBSTACLE !== undefined)(
  `under a user's systemd${OBSTACLE === undefined ? '' : `, but ${OBSTACLE}`}`,
  () => {
    test('the service of a user is found by her commands, and writes nothing of hers but its state', async () => {
      await using desk = await Desk.boot()
      await desk.output(NODE, INSTALLED, 'service', 'install', '--user')

      await desk.output('systemctl', '--user', 'daemon-reload')
      await desk.output('systemctl', '--user', 'enable', '--now', 'skillsyncd.socket', 'skillsyncd.service')

      await expect
        .poll(async () => (await desk.run(NODE, INSTALLED, 'status')).stdout, { timeout: 60_000 })
        .toMatch(/: daemon \d+, .* 1 skill served\nstate \/home\/ada\/\.local\/state\/skillsyncd\n/)
      const service = (
        await desk.output('systemctl', '--user', 'show', '--property=MainPID', '--value', 'skillsyncd')
      ).trim()
      const written = ['/', HOME, `${HOME}/.config`, '/etc', '/srv', STATE].map(async (folder) => {
        const { status } = await desk.manager.run('nsenter', '--target', service, '--mount', 'touch', `${folder}/try`)
        return [folder, status === 0] as const
      })
      expect((await Promise.all(written)).filter(([, isWritten]) => isWritten)).toEqual([[STATE, true]])
    })

    test('the service of a user fills the folders that her configuration names, and writes in them alone', async () => {
      await using desk = await Desk.boot()
      const links = 'sources: [{ id: mine, path: ~/skills }]\nlinks: [claude-code, { to: ~/host, copy: true }]\n'
      await desk.manager.write(`${HOME}/.config/skillsyncd/skillsyncd.yaml`, links)
      await desk.output(NODE, INSTALLED, 'service', 'install', '--user')
      await desk.output('systemctl', '--user', 'daemon-reload')

      await desk.output('systemctl', '--user', 'start', 'skillsyncd.service')

      await expect
        .poll(async () => (await desk.run('ls', `${HOME}/.claude/skills`, `${HOME}/host`)).stdout, { timeout: 60_000 })
        .toBe(`${HOME}/.claude/skills:\nalpha\n\n${HOME}/host:\nalpha\n`)
      await desk.manager.write(`${HOME}/skills/beta/SKILL.md`, '---\nname: beta\ndescription: Mine\n---\n')
      await expect
        .poll(async () => (await desk.run('cat', `${HOME}/.claude/skills/beta/SKILL.md`)).stdout, { timeout: 60_000 })
        .toContain('name: beta')
    })

    test('the service of a user is stopped and removed, and her state stays', async () => {
      await using desk = await Desk.boot()
      await desk.output(NODE, INSTALLED, 'service', 'install', '--user')
      await desk.output('systemctl', '--user', 'daemon-reload')
      await desk.output('systemctl', '--user', 'enable', '--now', 'skillsyncd.socket', 'skillsyncd.service')

      const removed = await desk.output(NODE, INSTALLED, 'service', 'uninstall', '--user')

      expect(removed).toContain(`removed   ${HOME}/.config/systemd/user/skillsyncd.service\n`)
      expect((await desk.run('systemctl', '--user', 'is-active', 'skillsyncd.service')).stdout).toBe('inactive\n')
      expect((await desk.run('ls', `${HOME}/.config/systemd/user`)).stdout).not.toContain('skillsyncd')
      expect((await desk.run('ls', STATE)).stdout).toContain('store.db')
    })

    test('a folder that cannot be made is a note, and the service is installed', async () => {
      await using desk = await Desk.boot()
      const links = 'sources: [{ id: mine, path: ~/skills }]\nlinks: [{ to: ~/file/host }, claude-code]\n'
      await desk.manager.write(`${HOME}/.config/skillsyncd/skillsyncd.yaml`, links)
      await desk.manager.write(`${HOME}/file`, 'no folder\n')

      const installed = await desk.run(NODE, INSTALLED, 'service', 'install', '--user')

      expect(installed).toMatchObject({ status: 0, stderr: '' })
      expect(installed.stdout).toContain(`note      the service cannot fill the folder "${HOME}/file/host": `)
      expect((await desk.run('ls', `${HOME}/.claude`)).stdout).toBe('skills\n')
    })

    test('a reload of the service of a user says what is wrong', async () => {
      await using desk = await Desk.boot()
      await desk.output(NODE, INSTALLED, 'service', 'install', '--user')
      await desk.output('systemctl', '--user', 'daemon-reload')
      await desk.output('systemctl', '--user', 'start', 'skillsyncd.service')

      await desk.manager.write(`${HOME}/.config/skillsyncd/skillsyncd.yaml`, 'sources: []\nno: 1\n')
      const refused = await desk.run('systemctl', '--user', 'reload', 'skillsyncd.service')

      expect(refused.status).toBe(1)
      expect(await desk.output('systemctl', '--user', 'is-active', 'skillsyncd.service')).toBe('active\n')
    })
  },
)

/** A machine with a user whose own systemd runs, and who has a configuration and a skill. */
class Desk implements AsyncDisposable {
  readonly manager: Manager

  private constructor(manager: Manager) {
    this.manager = manager
  }

  static async boot(): Promise<Desk> {
    const manager = await Manager.boot()
    await manager.output('/bin/sh', '-ec', 'echo "ada:x:4711:4711::/home/ada:/bin/sh" >> /etc/passwd')
    await manager.write(`${HOME}/.config/skillsyncd/skillsyncd.yaml`, 'sources: [{ id: mine, path: ~/skills }]\n')
    await manager.write(`${HOME}/skills/alpha/SKILL.md`, '---\nname: alpha\ndescription: Mine\n---\n')
    await manager.output('install', '-d', '-m', '700', '/run/user/4711')
    await manager.output('chown', '-R', '4711:4711', HOME, '/run/user/4711')
    await manager.write('/etc/systemd/system/user-of-ada.service', AS_LOGGED_IN)
    await manager.output('systemctl', 'daemon-reload')
    await manager.output('systemctl', 'start', 'user-of-ada.service')
    return new Desk(manager)
  }

  /** Runs a program as the user, to its end. */
  async run(...command: readonly string[]): Promise<Ended> {
    const variables = [`HOME=${HOME}`, 'XDG_RUNTIME_DIR=/run/user/4711', 'PATH=/usr/bin:/bin']
    const asUser = ['--reuid=4711', '--regid=4711', '--clear-groups', 'env', '-i', ...variables]
    return this.manager.run('setpriv', ...asUser, ...command)
  }

  async output(...command: readonly string[]): Promise<string> {
    const { status, stdout, stderr } = await this.run(...command)
    if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stdout}${stderr}`)
    return stdout
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.manager[Symbol.asyncDispose]()
  }
}

const AS_LOGGED_IN = `[Service]
Type=notify
User=ada
Delegate=yes
Environment=XDG_RUNTIME_DIR=/run/user/4711
ExecStart=/lib/systemd/systemd --user
`
