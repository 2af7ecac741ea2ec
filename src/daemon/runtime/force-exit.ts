import { existsSync } from 'node:fs'

/**
 * Ends the process soon if an abandoned system call hangs, for example on a disk that is gone. Otherwise the process
 * ends by itself before that, as usual. The stream is flushed by then.
 */
export function endThoughHung(status: number, stream: NodeJS.WritableStream): void {
  // The timer keeps no process alive. It fires only if something else does.
  stream.write('', () => setTimeout(() => leaveOrDie(status), LINGER_MS).unref())
}

const LINGER_MS = 1_000

/**
 * Ends the process at once without joining its threads. Without `execve` (Node before 22.15) or a shell it waits for
 * them.
 */
export function leave(status: number): never {
  replaceProcess(status)
  process.exit(status)
}

/** Kills the process where {@link leave} would wait; the exit status is then that of a killed process. */
function leaveOrDie(status: number): void {
  replaceProcess(status)
  process.kill(process.pid, 'SIGKILL')
}

/** `process.exit` joins the threads of Node's pool, including one that hangs; `execve` does not. */
function replaceProcess(status: number): void {
  if (existsSync(SHELL)) process.execve?.(SHELL, ['sh', '-c', `exit ${status}`], {})
}

const SHELL = '/bin/sh'
