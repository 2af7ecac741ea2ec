import { existsSync } from 'node:fs'

/**
 * Ends the process soon where a call of the system hangs that nobody waits for, such as one to a disk that is gone. Where
 * nothing does, it ends by itself before that, and as ever. What was written to the stream is out by then.
 */
export function endThoughHung(status: number, stream: NodeJS.WritableStream): void {
  // It keeps no process alive, and fires in one that something else keeps alive.
  stream.write('', () => setTimeout(() => leaveOrDie(status), LINGER_MS).unref())
}

const LINGER_MS = 1_000

/** Ends the process at once, its threads as they are. Without `execve` (Node before 22.15) or a shell it waits for them. */
export function leave(status: number): never {
  replaceProcess(status)
  process.exit(status)
}

/** The status is that of a process that was killed where {@link leave} would wait. */
function leaveOrDie(status: number): void {
  replaceProcess(status)
  process.kill(process.pid, 'SIGKILL')
}

/** `process.exit` joins the threads of Node's pool, one that hangs among them; a program that takes the place of this one does not. */
function replaceProcess(status: number): void {
  if (existsSync(SHELL)) process.execve?.(SHELL, ['sh', '-c', `exit ${status}`], {})
}

const SHELL = '/bin/sh'
