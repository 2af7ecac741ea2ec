/**
 * Ends the process soon where a call of the system hangs that nobody waits for, such as one to a disk that is gone. Where
 * nothing does, it ends by itself before that, and as ever. What was written to the stream is out by then.
 */
export function endThoughHung(status: number, stream: NodeJS.WritableStream): void {
  // It keeps no process alive, and fires in one that something else keeps alive.
  stream.write('', () => setTimeout(() => leave(status), LINGER_MS).unref())
}

const LINGER_MS = 1_000

/** `process.exit` joins the threads of Node's pool, the one that hangs among them, and so never ends. */
function leave(status: number): void {
  process.execve?.('/bin/sh', ['sh', '-c', `exit ${status}`], {})
  // A Node before 22.15 has no other way out: the status is then that of a process that was killed.
  process.kill(process.pid, 'SIGKILL')
}
