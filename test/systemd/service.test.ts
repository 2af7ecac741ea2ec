import { describe, expect, test, vi } from 'vitest'
import { Manager, NODE } from '../support/process/manager.ts'
import type { Program } from '../support/process/program.ts'
import { CONFIG, INDEX, Machine } from './machine.ts'

// Each boots a machine.
vi.setConfig({ testTimeout: 180_000 })

const OBSTACLE = await Manager.obstacle()

describe.skipIf(OBSTACLE !== undefined)(
  `under a real systemd${OBSTACLE === undefined ? '' : `, but ${OBSTACLE}`}`,
  () => {
    test('a start is over when the listener is open, and waits for no sync', async () => {
      await using machine = await Machine.boot(['url: http://127.0.0.1:9000/silent.git'])
      await machine.host('')

      const started = await machine.systemctl('start')

      expect(started).toMatchObject({ status: 0, stderr: '' })
      expect(await machine.show('ActiveState', 'StatusText')).toEqual({
        ActiveState: 'active',
        // The folder may be read by now, or not yet.
        StatusText: expect.stringMatching(
          /^\d skills? of 2 sources, generation \d(?:; tried again: readiness \/readyz)?$/,
        ),
      })
      await expect.poll(async () => machine.served(), POLL).toEqual(['alpha'])
      expect((await machine.skillsyncd('status')).stdout).toContain('fetching (')
    })

    test('after a restart the last generation is there when the restart is over', async () => {
      await using machine = await Machine.boot()
      await machine.start()
      await expect.poll(async () => machine.served(), POLL).toEqual(['alpha'])

      await machine.start('restart')

      expect(await machine.show('StatusText')).toEqual({ StatusText: '1 skill of 1 source, generation 1' })
      expect(await machine.served()).toEqual(['alpha'])
    })

    test('a configuration that is no good fails the start, and is not tried again', async () => {
      await using machine = await Machine.boot()
      await machine.configure(['pth: /srv/more'])

      const started = await machine.systemctl('start')

      expect(started.status).toBe(1)
      expect(await machine.show('ActiveState', 'NRestarts')).toEqual({ ActiveState: 'failed', NRestarts: '0' })
      expect(await machine.journal()).toContain('pth')
    })

    test('with the socket nobody is refused while it restarts under load', async () => {
      await using machine = await Machine.boot()
      await machine.manager.output('systemctl', 'enable', '--now', 'skillsyncd.socket', 'skillsyncd.service')
      await expect.poll(async () => machine.served(), POLL).toEqual(['alpha'])
      const load = machine.manager.start(NODE, '/opt/skillsyncd/test/systemd/load.mjs', INDEX)
      await answeredMore(load, 500)

      for (let restart = 1; restart <= 3; restart += 1) {
        const { MainPID } = await machine.show('MainPID')
        await machine.start('restart')
        expect(await machine.show('MainPID')).not.toEqual({ MainPID })
        await answeredMore(load, 200)
      }

      load.process.stdin.end()
      const { stdout } = await load.ended()
      expect(JSON.parse(stdout)).toMatchObject({ wrong: {} })
    })

    test('the socket alone has the first request start it', async () => {
      await using machine = await Machine.boot()
      await machine.manager.output('systemctl', 'start', 'skillsyncd.socket')
      expect(await machine.show('ActiveState')).toEqual({ ActiveState: 'inactive' })

      await machine.served()

      // It serves a moment before a program has sent that it is ready.
      await expect.poll(async () => machine.show('ActiveState'), POLL).toEqual({ ActiveState: 'active' })
    })

    test('a second socket unit opens the second listener', async () => {
      await using machine = await Machine.boot()
      const lines = [
        '[Socket]',
        'ListenStream=127.0.0.1:8742',
        'Service=skillsyncd.service',
        'FileDescriptorName=operations',
      ]
      await machine.manager.write('/etc/systemd/system/skillsyncd-operations.socket', `${lines.join('\n')}\n`)
      await machine.manager.output('systemctl', 'daemon-reload')

      await machine.manager.output('systemctl', 'start', 'skillsyncd.socket', 'skillsyncd-operations.socket')
      await machine.start()

      const { stdout } = await machine.skillsyncd('status')
      expect(stdout).toContain('http://127.0.0.1:8741/mcp')
      expect(stdout).toContain('http://127.0.0.1:8742')
    })

    test('61, 62: a reload fails where the configuration is no good, and applies one that is', async () => {
      await using machine = await Machine.boot()
      await machine.manager.write('/srv/more/beta/SKILL.md', '---\nname: beta\ndescription: The second\n---\nHello\n')
      await machine.start()
      await expect.poll(async () => machine.served(), POLL).toEqual(['alpha'])

      await machine.configure(['pth: /srv/more'])
      const refused = await machine.systemctl('reload')
      const still = await machine.served()
      await machine.configure(['path: /srv/more'])
      const applied = await machine.systemctl('reload')

      expect([refused.status, applied.status]).toEqual([1, 0])
      expect(still).toEqual(['alpha'])
      await expect.poll(async () => machine.served(), POLL).toEqual(['alpha', 'beta'])
      expect(await machine.journal()).toContain('pth')
      expect(await machine.show('NRestarts', 'SubState')).toEqual({ NRestarts: '0', SubState: 'running' })
    })

    test('a loop that is blocked is restarted by the watchdog', async () => {
      await using machine = await Machine.boot()
      await machine.manager.write('/opt/block.mjs', "process.on('SIGUSR2', () => { for (;;); })")
      await machine.adjust('WatchdogSec=4s', 'Environment=NODE_OPTIONS=--import=/opt/block.mjs')
      await machine.start()
      const { MainPID } = await machine.show('MainPID')

      await machine.systemctl('kill', '--kill-whom=main', '--signal=SIGUSR2')

      await expect
        .poll(async () => machine.show('NRestarts', 'SubState'), POLL)
        .toEqual({ NRestarts: '1', SubState: 'running' })
      expect(await machine.show('MainPID')).not.toEqual({ MainPID })
      expect(await machine.journal()).toContain('Watchdog timeout')
    })

    test('a sync that is merely slow is not restarted', async () => {
      await using machine = await Machine.boot(['url: http://127.0.0.1:9000/silent.git'])
      const host = await machine.host('')
      await machine.adjust('WatchdogSec=4s')
      await machine.start()
      await host.said((line) => line.startsWith('asked'))
      const asked = await machine.pinged()

      await expect.poll(async () => machine.pinged(), POLL).toBeGreaterThan(asked + 9_000_000)

      expect(await machine.show('NRestarts', 'SubState')).toEqual({ NRestarts: '0', SubState: 'running' })
      expect((await machine.skillsyncd('status')).stdout).toContain('fetching (')
    })

    test('a credential of the manager is what a source is asked with, and is in no line of the journal', async () => {
      await using machine = await Machine.boot([
        'url: http://127.0.0.1:9000/private.git',
        'auth: { token: { credential: git-token } }',
      ])
      const host = await machine.host('response.writeHead(401).end()')
      await machine.manager.write('/etc/skillsyncd/git-token', 'canary-5e1f\n', '600')
      await machine.adjust('LoadCredential=git-token:/etc/skillsyncd/git-token')

      await machine.start()

      const asked = await host.said((line) => line.startsWith('asked'))
      expect(asked).toBe(`asked with Basic ${Buffer.from('x-access-token:canary-5e1f').toString('base64')}`)
      const { MainPID } = await machine.show('MainPID')
      const process = await machine.manager.output('cat', `/proc/${MainPID}/environ`, `/proc/${MainPID}/cmdline`)
      expect(`${process}${await machine.journal()}`).not.toContain('canary-5e1f')
      const query = ['--no-pager', '--unit=skillsyncd', '--priority=warning']
      // The host has answered: the daemon says so a moment later.
      await expect.poll(() => machine.manager.output('journalctl', ...query)).toContain('credentials-rejected')
      expect(await machine.manager.output('journalctl', ...query)).not.toContain('"started"')
    })

    test('a repository that takes the git program is read in the sandbox', async () => {
      await using machine = await Machine.boot(['url: file:///srv/repository'])
      const script = `
      git init --quiet --initial-branch=main --object-format=sha256 /srv/repository && cd /srv/repository
      mkdir beta && printf -- '---\\nname: beta\\ndescription: The second\\n---\\n' > beta/SKILL.md
      git add . && git -c user.name=a -c user.email=a@example.com commit --quiet --message=first`
      await machine.manager.output('/bin/sh', '-ec', script)

      await machine.start()

      await expect.poll(async () => machine.served(), POLL).toEqual(['alpha', 'beta'])
    })

    test('a configuration is found whose name has all that a unit would read otherwise', async () => {
      await using machine = await Machine.boot()
      const config = String.raw`/etc/skillsyncd/it's 100%h "$HOME" \x41;.yaml`
      await machine.manager.write(config, 'sources: [{ id: odd, path: /srv/skills }]\n')
      expect(await machine.manager.skillsyncd('service', 'install', '--config', config)).toMatchObject({ status: 0 })
      await machine.manager.output('systemctl', 'daemon-reload')

      await machine.start()
      const reloaded = await machine.systemctl('reload')

      expect(reloaded).toMatchObject({ status: 0, stderr: '' })
      await expect.poll(async () => machine.served(), POLL).toEqual(['alpha'])
    })

    test('folders of agents are not filled, which the installation and the journal say, and all is served', async () => {
      await using machine = await Machine.boot()
      await machine.manager.write(
        CONFIG,
        'sources: [{ id: local, path: /srv/skills }]\nlinks: [claude-code, { to: /srv/host }]\n',
      )

      const installed = await machine.manager.skillsyncd('service', 'install')
      await machine.start()

      expect(installed.stdout).toContain(
        'note      the service cannot fill the folder of claude-code: it sees no home; install --user, as the user whose agent reads, runs one that does\n',
      )
      expect(installed.stdout).toContain(
        'note      the service can fill the folder "/srv/host" only if a drop-in has it in ',
      )
      await expect.poll(async () => machine.served(), POLL).toEqual(['alpha'])
      await expect
        .poll(async () => machine.journal(), POLL)
        .toContain(
          'Cannot fill the folder of claude-code: this service has no home; skillsyncd service install --user, ',
        )
    })

    test('a link into a home is refused, since the service would not find what it leads to', async () => {
      await using machine = await Machine.boot()
      await machine.manager.write('/home/ada/skillsyncd.yaml', 'sources: [{ id: a, path: /srv/skills }]\n')
      await machine.manager.output('ln', '--symbolic', '/home/ada/skillsyncd.yaml', '/etc/linked.yaml')

      const refused = await machine.manager.skillsyncd('service', 'print', '--config', '/etc/linked.yaml')

      expect(refused).toMatchObject({ status: 2, stdout: '' })
      expect(refused.stderr).toContain('its sandbox hides that folder; move it to /etc/skillsyncd/skillsyncd.yaml')
    })

    test('a configuration that the user of the service may not read is refused before anything is written', async () => {
      await using machine = await Machine.boot()
      await machine.manager.output('chmod', '600', CONFIG)
      await machine.manager.output('rm', '/etc/systemd/system/skillsyncd.service')

      const refused = await machine.manager.skillsyncd('service', 'install')

      expect(refused).toMatchObject({ status: 2, stdout: '' })
      expect(refused.stderr).toContain(`which may not read "${CONFIG}"; let every user read it (chmod o+rX)`)
      expect((await machine.manager.run('ls', '/etc/systemd/system')).stdout).toBe('skillsyncd.socket\n')
    })

    test('the unit that runs is exposed no more than the one that was looked at', async () => {
      await using machine = await Machine.boot()
      await machine.start()

      const verified = await machine.manager.skillsyncd('service', 'verify')
      const running = await machine.manager.run('systemd-analyze', 'security', '--threshold=15', 'skillsyncd.service')

      expect(verified).toMatchObject({ status: 0, stderr: '' })
      expect(running).toMatchObject({ status: 0 })
    })
  },
)

const POLL = { timeout: 60_000, interval: 100 }

/** Waits for so many more answers than there were when it was called. */
async function answeredMore(load: Program, count: number): Promise<void> {
  const soFar = answeredIn(load.stderr.trim().split('\n').at(-1) ?? '')
  await load.said((line) => answeredIn(line) >= soFar + count)
}

function answeredIn(line: string): number {
  return Number(/^answered (\d+)$/.exec(line)?.[1] ?? 0)
}
