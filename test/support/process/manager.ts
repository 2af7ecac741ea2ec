import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, rmdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from '../temporary.ts'
import { Program } from './program.ts'
import type { Ended } from './program.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const SYSTEMD = '/lib/systemd/systemd'
const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin'

/** Where the built program lies in the namespaces: in no home, as if it was installed for all users. */
export const INSTALLED = '/opt/skillsyncd/dist/program/main.js'
export const NODE = '/opt/node'

/**
 * A systemd that is process 1 of namespaces of its own: its network, processes, control groups, /etc, /run, /var and homes are
 * its alone, and gone with it. Whatever it starts runs under it as it would on a machine.
 */
export class Manager implements AsyncDisposable {
  /** It waits for process 1, and ends with it. */
  readonly #unshare: Program
  readonly #group: string
  readonly #pid: number
  #isOver = false

  private constructor(unshare: Program, group: string, pid: number) {
    this.#unshare = unshare
    this.#group = group
    this.#pid = pid
  }

  /** Why none can be booted here, or undefined. */
  static async obstacle(): Promise<string | undefined> {
    if (process.platform !== 'linux') return 'only Linux has systemd'
    if (process.getuid?.() !== 0) return 'only root can boot one in namespaces'
    if (!existsSync(SYSTEMD)) return `there is no ${SYSTEMD}: install the package systemd`
    if ((await unifiedGroups()) === undefined) return 'no control groups of the second version are mounted'
    return promisify(execFile)('unshare', [...NAMESPACES.split(' '), 'mount', '-t', 'tmpfs', 'tmpfs', '/run']).then(
      () => undefined,
      (error: Error) => `this machine allows no namespaces: ${error.message.replaceAll('\n', ' ')}`,
    )
  }

  /** Boots one, and waits until it is up. It is gone when the test is over. */
  static async boot(): Promise<Manager> {
    const folder = await temporaryFolder()
    onTestFinished(async () => folder[Symbol.asyncDispose]())
    const booted = join(folder.path, 'booted')
    await promisify(execFile)('mkfifo', [booted])
    await writeUnits(join(folder.path, 'units'), booted)
    await writeFile(join(folder.path, 'boot.sh'), BOOT)
    const group = join((await unifiedGroups()) ?? '', basename(folder.path))
    await mkdir(group)
    const env = { PATH: SYSTEM_PATH, GROUP: group, SCRATCH: folder.path, ROOT, EXECUTABLE: process.execPath }
    const unshare = new Program('/bin/sh', ['-ec', UNSHARE], { env, path: '/' })
    const failed = unshare.ended().then(({ stdout, stderr }) => {
      throw new Error(`systemd did not boot: ${stdout}${stderr}`)
    })
    await Promise.race([readFile(booted), failed])
    // From here on it ends when it is told to.
    failed.catch(() => {})
    const children = await readFile(`/proc/${unshare.pid}/task/${unshare.pid}/children`, 'utf8')
    const manager = new Manager(unshare, group, Number(children.trim()))
    onTestFinished(async () => manager[Symbol.asyncDispose]())
    return manager
  }

  /** Starts a program in the namespaces, as root. */
  start(program: string, ...args: readonly string[]): Program {
    const into = [...ALL_ITS_OWN, '--target', String(this.#pid), '--', program, ...args]
    return new Program('nsenter', into, { env: { PATH: SYSTEM_PATH, HOME: '/root', LC_ALL: 'C' }, path: '/' })
  }

  /** Runs one to its end. */
  async run(program: string, ...args: readonly string[]): Promise<Ended> {
    const started = this.start(program, ...args)
    started.process.stdin.end()
    return started.ended()
  }

  /** The same, of one that has to succeed. Returns what it printed. */
  async output(program: string, ...args: readonly string[]): Promise<string> {
    const { status, stdout, stderr } = await this.run(program, ...args)
    if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${stdout}${stderr}`)
    return stdout
  }

  /** Runs a command of the program, as root. */
  async skillsyncd(...args: readonly string[]): Promise<Ended> {
    return this.run(NODE, INSTALLED, ...args)
  }

  /** Writes a file in the namespaces, with the folders above it. */
  async write(path: string, content: string, mode = '644'): Promise<void> {
    const script = 'mkdir -p "$(dirname "$1")" && printf %s "$2" > "$1" && chmod "$3" "$1"'
    await this.output('/bin/sh', '-c', script, 'sh', path, content, mode)
  }

  /** Properties of a unit, as systemd has them. */
  async show(unit: string, ...properties: readonly string[]): Promise<Readonly<Record<string, string>>> {
    const text = await this.output('systemctl', 'show', unit, `--property=${properties.join(',')}`)
    const lines = text.trim().split('\n')
    return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s, 2)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    // Process 1 ends when every other one of them has.
    process.kill(this.#pid, 'SIGKILL')
    await this.#unshare.ended()
    await removeGroup(this.#group)
  }
}

/** Where control groups of the second version are mounted. */
async function unifiedGroups(): Promise<string | undefined> {
  const mounts = await readFile('/proc/self/mounts', 'utf8')
  return /^\S+ (\S+) cgroup2 /m.exec(mounts)?.[1]
}

/** Those below it first. One that is gone already is fine. */
async function removeGroup(group: string): Promise<void> {
  const entries = await readdir(group, { withFileTypes: true }).catch(() => [])
  for (const entry of entries) if (entry.isDirectory()) await removeGroup(join(group, entry.name))
  await rmdir(group).catch(() => {})
}

const NAMESPACES =
  '--mount --pid --net --ipc --uts --cgroup --fork --kill-child=SIGKILL --mount-proc --propagation=private'

const ALL_ITS_OWN = ['--mount', '--pid', '--net', '--ipc', '--uts', '--cgroup', '--root', '--wd']

/** In a group of their own. Should the process of the tests be killed, they are too. */
const UNSHARE = `
echo $$ > "$GROUP/cgroup.procs"
exec setpriv --pdeathsig KILL unshare ${NAMESPACES} /bin/sh -e "$SCRATCH/boot.sh"
`

/** Lays what is the machine's own over this machine, and becomes process 1. */
const BOOT = `
mount -t tmpfs -o mode=755 tmpfs /opt
mkdir /opt/skillsyncd /opt/etc
for part in dist node_modules systemd test package.json; do
  if [ -d "$ROOT/$part" ]; then mkdir "/opt/skillsyncd/$part"; else touch "/opt/skillsyncd/$part"; fi
  mount --bind "$ROOT/$part" "/opt/skillsyncd/$part"
done
touch ${NODE}
mount --bind "$EXECUTABLE" ${NODE}
cp -a /etc/. /opt/etc/
mount --bind /opt/etc /etc
rm -rf /etc/systemd/system /etc/systemd/user
mkdir -p /etc/systemd/system /etc/systemd/user
printf '[Journal]\\nStorage=volatile\\nReadKMsg=no\\n' > /etc/systemd/journald.conf
for folder in /run /var/lib /var/cache /var/log /home /root /srv; do
  mount -t tmpfs -o mode=755 tmpfs "$folder"
done
mkdir -p /run/units /run/systemd/unit-root
cp -r "$SCRATCH/units/." /run/units/
umount -R /sys/fs/cgroup 2>/dev/null || umount -lR /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
# What a helper of process 1 mounts, such as credentials, has to come back to it; of this machine nothing is shared any more.
mount --make-rshared /
exec env -i container=namespaces PATH="$PATH" SYSTEMD_UNIT_PATH=/etc/systemd/system:/run/units \\
  SYSTEMD_GENERATOR_PATH=/run/none ${SYSTEMD} --system --unit=default.target
`

/** As little of a system as our units need, and the journal. */
async function writeUnits(folder: string, booted: string): Promise<void> {
  const write = async (name: string, ...lines: readonly string[]): Promise<void> =>
    writeFile(join(folder, name), lines.map((line) => `${line}\n`).join(''))
  await mkdir(folder)
  const targets = ['sysinit', 'basic', 'sockets', 'multi-user', 'network-online', 'shutdown', 'local-fs', 'umount']
  for (const name of targets) await write(`${name}.target`, '[Unit]', `Description=${name}`, 'DefaultDependencies=no')
  // Its third, the socket for /dev/log, would leave a link in the /dev of this machine.
  for (const name of ['systemd-journald.service', 'systemd-journald.socket'])
    await write(name, await readFile(`/lib/systemd/system/${name}`, 'utf8'))
  await write('default.target', '[Unit]', 'Wants=systemd-journald.service booted.service multi-user.target')
  const up = `ExecStart=/bin/sh -c 'echo up > ${booted}'`
  await write(
    'booted.service',
    '[Unit]',
    'After=systemd-journald.service multi-user.target',
    '[Service]',
    'Type=oneshot',
    up,
  )
}
