import { stat } from 'node:fs/promises'
import { unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import type { Ground } from '../../cli/check.ts'
import { ProgramFailedError, runProgram } from '../../runtime/run-program.ts'

/** The holder of a port in use, as known from systemd. `other`: systemd certainly does not hold it. */
export type PortHolder =
  | { readonly kind: 'unit'; readonly unit: string; readonly starts: string }
  | { readonly kind: 'other' }
  | { readonly kind: 'unknown' }

/** Queries the system's and the user's service manager for their sockets. A socket unit can have any name. */
export async function portHolder(
  port: number,
  ground: Ground,
  booted: string,
  signal: AbortSignal,
): Promise<PortHolder> {
  if ((await unlessAbsent(stat(booted))) === undefined) return { kind: 'other' }
  const listed = await Promise.all(['system', 'user'].map(async (scope) => socketsOf(scope, ground, signal)))
  for (const line of listed.flatMap((lines) => lines ?? [])) {
    const [listens = '', unit = '', starts = ''] = line.trim().split(/\s+/)
    if (listens.endsWith(`:${port}`)) return { kind: 'unit', unit, starts }
  }
  return { kind: listed.includes(undefined) ? 'unknown' : 'other' }
}

/** `undefined` if the manager does not answer: not every session has a user manager. */
async function socketsOf(
  scope: string,
  { environment: { path, runtime, home } }: Ground,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const env = { PATH: path, HOME: home, LC_ALL: 'C', ...(runtime !== undefined && { XDG_RUNTIME_DIR: runtime }) }
  const args = [`--${scope}`, 'list-sockets', '--full', '--plain', '--no-legend', '--no-pager']
  const call = { command: 'systemctl', args, env, input: '' }
  try {
    const { status, stdout } = await runProgram(call, { timeoutMs: 5_000, outputBytes: 1_048_576, signal })
    return status === 0 ? Buffer.from(stdout).toString().split('\n') : undefined
  } catch (error) {
    if (error instanceof ProgramFailedError) return undefined
    throw error
  }
}
