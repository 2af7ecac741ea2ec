#!/usr/bin/env node
/** The oldest Node that runs this program, as in `engines` of package.json: the first LTS that brings SQLite. */
const FLOOR = 24

if (Number.parseInt(process.versions.node, 10) < FLOOR) {
  process.stderr.write(
    `skillsyncd needs Node ${FLOOR} or newer; this is ${process.versions.node}. Install the LTS from https://nodejs.org or with your version manager (nvm install ${FLOOR})\n`,
  )
  process.exitCode = 2
} else {
  // A log stream that is closed or full is no reason to stop serving.
  process.stderr.on('error', () => {})
  // Nothing is imported above: an older Node would fail on the imports with an error that does not give the reason.
  const { keepCompiledCode, prepareThreads } = await import('./config/process-environment.ts')
  keepCompiledCode()
  prepareThreads(process.argv.slice(2))
  const { run } = await import('./cli.ts')
  const { endThoughHung, leave } = await import('./runtime/force-exit.ts')
  const { stdin, stdout, stderr } = process
  process.exitCode = await run(process.argv.slice(2), {
    stdin,
    stdout,
    stderr,
    on: process.on.bind(process),
    exit: leave,
    endSoon: (status) => endThoughHung(status, stdout),
  })
}
