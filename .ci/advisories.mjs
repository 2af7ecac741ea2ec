// Fails where an advisory is known for a package that the build put into the program. Where the registry publishes none, says
// so and passes.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const args = ['audit', '--package-lock-only', '--json', ...process.argv.slice(2)]
const { stdout } = spawnSync('npm', args, { encoding: 'utf8' })
const { vulnerabilities } = reportIn(stdout)
if (vulnerabilities === undefined) {
  console.log('advisories cannot be had here: the registry does not answer with them')
} else {
  const bundled = new Set(JSON.parse(readFileSync('dist/program/packages.json', 'utf8')).map(({ path }) => path))
  const ofUsers = Object.values(vulnerabilities).filter(({ nodes }) => nodes.some((path) => bundled.has(path)))
  for (const { name, severity, via } of ofUsers) {
    const advisories = via.map((cause) =>
      typeof cause === 'string' ? `by way of ${cause}` : `${cause.title} ${cause.url}`,
    )
    console.log(`${severity}: ${name}: ${advisories.join('; ')}`)
  }
  console.log(`${ofUsers.length} packages with advisories`)
  process.exitCode = ofUsers.length > 0 ? 1 : 0
}

function reportIn(text) {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
