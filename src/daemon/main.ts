#!/usr/bin/env node
/** The oldest Node that runs this program, as in `engines` of package.json: the first LTS that brings SQLite. */
const FLOOR = 24

if (Number.parseInt(process.versions.node, 10) < FLOOR) {
  process.stderr.write(
    `skillsyncd needs Node ${FLOOR} or newer; this is ${process.versions.node}. Install the LTS from https://nodejs.org or with your version manager (nvm install ${FLOOR})\n`,
  )
  process.exitCode = 2
} else {
  // On EPIPE the reader has read enough, as in `skillsyncd list | head`. A command ends on any write error, since it
  // cannot report its result; `start` goes on.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.stderr.write(`skillsyncd: Cannot write the result: ${error.code}\n`)
    if (process.argv[2] !== 'start') process.exit(error.code === 'EPIPE' ? 0 : 1)
  })
  // A log stream that is closed or full is no reason to stop serving.
  process.stderr.on('error', () => {})
  // Nothing is imported above: an older Node would fail on the imports with an error that does not give the reason.
  const { prepareThreads } = await import('./config/process-environment.ts')
  prepareThreads()
  const { run } = await import('./cli/cli.ts')
  const { endThoughHung, leave } = await import('./base/force-exit.ts')
  const { stdin, stdout, stderr } = process
  const status = await run(process.argv.slice(2), { stdin, stdout, stderr, on: process.on.bind(process), exit: leave })
  process.exitCode = status
  if (process.argv[2] === 'doctor') endThoughHung(status, stdout)
}
