#!/usr/bin/env node
/** The oldest Node that runs this program, as in `engines` of package.json. */
const FLOOR = { major: 22, minor: 12 }

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < FLOOR.major || (major === FLOOR.major && minor < FLOOR.minor)) {
  process.stderr.write(
    `skillsyncd needs Node ${FLOOR.major}.${FLOOR.minor} or newer; this is ${process.versions.node}\n`,
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
