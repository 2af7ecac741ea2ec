import { expect } from 'vitest'
import { Manager, NODE } from '../support/process/manager.ts'
import type { Ended, Program } from '../support/process/program.ts'

export const CONFIG = '/etc/skillsyncd/skillsyncd.yaml'
/** What clients ask for here: it names every skill that is served. */
export const INDEX = 'http://127.0.0.1:8741/.well-known/agent-skills/index.json'

/** A machine with the service installed, a folder with the skill `alpha`, and perhaps another source. */
export class Machine implements AsyncDisposable {
  readonly manager: Manager

  private constructor(manager: Manager) {
    this.manager = manager
  }

  static async boot(other: readonly string[] = []): Promise<Machine> {
    const machine = new Machine(await Manager.boot())
    const { manager } = machine
    await manager.write('/srv/skills/alpha/SKILL.md', '---\nname: alpha\ndescription: The first\n---\nHello\n')
    await machine.configure(other)
    expect(await manager.skillsyncd('service', 'install')).toMatchObject({ status: 0, stderr: '' })
    await manager.output('systemctl', 'daemon-reload')
    return machine
  }

  /** Writes the configuration: the folder, and perhaps another source, given as the lines of YAML that follow its id. */
  async configure(other: readonly string[]): Promise<void> {
    const entry = other.length === 0 ? [] : ['  - id: other', ...other.map((line) => `    ${line}`)]
    // A test waits for a host that says nothing; the daemon is not to give up on it before.
    const patience = 'limits: { fetch: { connect_timeout: 10m, idle_timeout: 10m } }'
    const lines = ['sources:', '  - { id: local, path: /srv/skills }', ...entry, patience]
    await this.manager.write(CONFIG, lines.map((line) => `${line}\n`).join(''))
  }

  /** Adds to the unit of the service, as an operator does. */
  async adjust(...lines: readonly string[]): Promise<void> {
    await this.manager.write('/etc/systemd/system/skillsyncd.service.d/test.conf', `[Service]\n${lines.join('\n')}\n`)
    await this.manager.output('systemctl', 'daemon-reload')
  }

  /** Asks systemd to do something with the service. */
  async systemctl(verb: string, ...options: readonly string[]): Promise<Ended> {
    return this.manager.run('systemctl', verb, ...options, 'skillsyncd.service')
  }

  /** The same, of what has to succeed. */
  async start(verb = 'start'): Promise<void> {
    await this.manager.output('systemctl', verb, 'skillsyncd.service')
  }

  /** Properties of the service, as systemd has them. */
  async show(...properties: readonly string[]): Promise<Readonly<Record<string, string>>> {
    return this.manager.show('skillsyncd.service', ...properties)
  }

  /** A command about the service, as root. */
  async skillsyncd(command: string): Promise<Ended> {
    return this.manager.skillsyncd(command, '--config', CONFIG, '--state', '/var/lib/skillsyncd')
  }

  /** The names of the skills that clients are told of. */
  async served(): Promise<readonly string[]> {
    const script = `console.log(await (await fetch('${INDEX}')).text())`
    const { skills } = JSON.parse(await this.manager.output(NODE, '--input-type=module', '-e', script))
    return skills.map(({ name }: { readonly name: string }) => name)
  }

  /** What the service wrote, and what systemd wrote about it. */
  async journal(): Promise<string> {
    await this.manager.output('journalctl', '--sync')
    return this.manager.output('journalctl', '--no-pager', '--unit=skillsyncd.service')
  }

  /** When the watchdog heard of it last, in microseconds. */
  async pinged(): Promise<number> {
    const { WatchdogTimestampMonotonic } = await this.show('WatchdogTimestampMonotonic')
    return Number(WatchdogTimestampMonotonic)
  }

  /** Starts a git host on port 9000 that does this with a request, and says on stderr with which credential it was asked. */
  async host(answer: string): Promise<Program> {
    const script = `require('node:http').createServer((request, response) => {
      console.error('asked with ' + request.headers.authorization)
      ${answer}
    }).listen(9000, '127.0.0.1', () => console.error('up'))`
    const host = this.manager.start(NODE, '-e', script)
    await host.said((line) => line === 'up')
    return host
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.manager[Symbol.asyncDispose]()
  }
}
