import type * as NodeUnixSocket from 'node-unix-socket'
import type { Environment } from './config/environment.ts'
import { ProgramFailure, runProgram } from './run-program.ts'

/** Tells the service manager something: lines `NAME=value`, as one datagram. Rejects with a `ProgramFailure` or an error of the system. */
export interface NotifySocket {
  readonly way: 'socket' | 'program'
  tell(lines: readonly string[]): Promise<void>
}

/**
 * Node has no datagram sockets of Unix (nodejs/node#61933), so an addon sends. Where that is not installed, and for the addresses
 * without a path that it does not know, the `systemd-notify` program does: another process, which the unit has to let speak
 * for ours (NotifyAccess=all).
 */
export async function openNotifySocket(address: string, environment: Pick<Environment, 'path'>): Promise<NotifySocket> {
  const addon = address.startsWith('/') ? await loadAddon() : undefined
  return addon === undefined
    ? { way: 'program', tell: (lines) => tellByProgram(address, lines, environment) }
    : { way: 'socket', tell: (lines) => tellBySocket(addon, address, lines) }
}

/** Whether the addon is there for this machine and this Node. */
export async function hasDatagrams(): Promise<boolean> {
  return (await loadAddon()) !== undefined
}

type Addon = Pick<typeof NodeUnixSocket, 'DgramSocket'>

/** It is optional, and so is what it needs of the machine: whatever is the matter with it, there is another way. */
async function loadAddon(): Promise<Addon | undefined> {
  return import('node-unix-socket').catch(() => undefined)
}

async function tellBySocket({ DgramSocket }: Addon, address: string, lines: readonly string[]): Promise<void> {
  const socket = new DgramSocket()
  const message = Buffer.from(lines.join('\n'))
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  try {
    // What nobody listens for would end the process.
    socket.on('error', reject)
    socket.sendTo(message, 0, message.length, address, (error) => (error === undefined ? resolve() : reject(error)))
    await promise
  } finally {
    // Open, it would keep the process from ending.
    socket.close()
  }
}

async function tellByProgram(
  address: string,
  lines: readonly string[],
  { path }: Pick<Environment, 'path'>,
): Promise<void> {
  const call = { command: 'systemd-notify', args: lines, env: { NOTIFY_SOCKET: address, PATH: path }, input: '' }
  const { status } = await runProgram(call, { timeoutMs: PROGRAM_MS, outputBytes: 4_096, signal: NEVER })
  if (status !== 0) throw new ProgramFailure(`it ended with ${status}`)
}

const PROGRAM_MS = 5_000
const NEVER = new AbortController().signal
